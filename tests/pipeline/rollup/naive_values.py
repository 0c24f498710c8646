"""Values of visitors held against a naive count: moments, winsorizing, covariates and quantiles."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.stats.clustered_buckets import ClusteredBuckets
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from tests.pipeline.rollup.naive_goals import local_date
from tests.pipeline.rollup.naive_persons import Person

# The last local day in New York of whose visitors the days 1 to 8 are over.
KNOWN_UNTIL = date(2026, 3, 3)


def compare_values(
    observed: Evidence,
    people: list[Person],
    everyone: list[Person],
    experiment: Experiment,
    project: Project,
) -> None:
    if not any(map(is_measured, experiment.goals)) and not (experiment.statistics.cuped and people):
        assert observed.values is None
        return
    assert observed.values is not None
    compare_amounts(observed, people, experiment, project)
    if not experiment.statistics.cuped or not people:
        assert not observed.values.before.n.any()
        return
    for g, goal in enumerate(experiment.goals):
        if goal.measure.word in {"retained", "quantile"}:
            assert not observed.values.before.n[g].any()
            continue
        is_revenue = goal.goal_type == "revenue"
        cap = cap_over(everyone, goal) if is_revenue else np.inf
        for v, variant in enumerate(experiment.variants):
            them = known_in(people, variant.id, goal, project)
            done = [value_of(one, goal) for one in them]
            y, z = np.minimum(done, cap), np.minimum([one.before[goal.id] for one in them], cap)
            agree(observed.values.before, (g, v), z, y)
            assert observed.values.capped[g, v] == sum(amount > cap for amount in done)
            d = np.array([one.purchases[goal.id] for one in them], float)
            if is_revenue:
                agree(observed.values.orders, (g, v), d, y)
                agree(observed.values.before_orders, (g, v), z, d)
            elif goal.measure.word == "ratio":
                below = [below_of(one, goal) for one in them]
                agree(observed.values.orders, (g, v), below, y)
                agree(observed.values.before_orders, (g, v), z, below)
            else:
                assert observed.values.orders.n[g, v] == 0


def compare_amounts(
    observed: Evidence, people: list[Person], experiment: Experiment, project: Project
) -> None:
    """Compare the moments of goals with amounts, which need no other sums than those by day."""
    assert observed.values is not None
    for g, goal in enumerate(experiment.goals):
        for v, variant in enumerate(experiment.variants):
            them = known_in(people, variant.id, goal, project)
            done = [value_of(one, goal) for one in them]
            if goal.measure.word == "ratio":
                agree(observed.values.orders, (g, v), [below_of(one, goal) for one in them], done)
            if is_measured(goal) and not goal.measure.is_quantile:
                wanted = Moments.of(np.array(done, float))
                for name in ("n", "mean", "m2", "m3"):
                    found = getattr(observed.values.value[g, v], name)
                    np.testing.assert_allclose(found, getattr(wanted, name), rtol=1e-9, atol=1e-9)


def compare_quantiles(
    observed: Evidence, people: list[Person], experiment: Experiment, project: Project
) -> None:
    """Compare every value in its bucket, and what clusters of several values a visitor do to errors."""
    for g, goal in enumerate(experiment.goals):
        if not goal.measure.is_quantile:
            continue
        arms = []
        for variant in experiment.variants:
            of_arm = [one.values[goal.id] for one in known_in(people, variant.id, goal, project)]
            kept = [[sum(each)] if goal.tracking["of"] == "visitor" else each for each in of_arm if each]
            arms.append([(who, value) for who, values in enumerate(kept) for value in values])
        found = observed.quantiles[g]
        wanted = QuantileEvidence.of(
            goal.tracking["q"], [ClusteredBuckets.of(*np.array(arm).reshape(-1, 2).T) for arm in arms]
        )
        for v, arm in enumerate(found.arms):
            values = np.repeat(arm.values, arm.counts.astype(int))
            np.testing.assert_allclose(values, sorted(value for _, value in arms[v]), rtol=0.00501)
            assert arm.design_effect == pytest.approx(wanted.arms[v].design_effect, rel=1e-9)
            assert found.visitors[v] == observed.trials[g, v] == len({who for who, _ in arms[v]})


def known_in(people: list[Person], variant_id: str, goal: Goal, project: Project) -> list[Person]:
    """List the people of a variant whose outcome is known."""
    return [one for one in people if one.variants == {variant_id} and is_known(one, goal, project)]


def paying_in(people: list[Person], variant_id: str, goal: Goal, project: Project) -> list[Person]:
    """List the people of a variant whose money is told: of a quantile it is that of everyone."""
    if goal.measure.is_quantile:
        return [one for one in people if one.variants == {variant_id}]
    return known_in(people, variant_id, goal, project)


def is_known(person: Person, goal: Goal, project: Project) -> bool:
    """Tell whether the days or the window of a goal are over for a person."""
    if goal.known_after is None:
        return True
    first = local_date(datetime.fromtimestamp(person.first.occurred_at / 1e6, UTC), project)
    return first <= KNOWN_UNTIL + timedelta(days=9 - goal.known_after)


def is_measured(goal: Goal) -> bool:
    return goal.measure.word not in {"converted", "retained", "funnel"}


def value_of(person: Person, goal: Goal) -> float:
    if is_measured(goal):
        return float(sum(amount for _, amount in person.amounts.get(goal.id, [])))
    return spent(person, goal) if goal.goal_type == "revenue" else float(goal.id in person.converted)


def below_of(person: Person, goal: Goal) -> float:
    return float(sum(amount for _, amount in person.denominators.get(goal.id, [])))


def spent(person: Person, goal: Goal) -> float:
    return float(sum(amount for _, amount in person.orders.get(goal.id, [])))


def cap_over(people: list[Person], goal: Goal) -> float:
    paid = [amount for one in people if (amount := spent(one, goal)) > 0]
    return float(np.percentile(paid, 80, method="inverted_cdf")) if paid else np.inf


def agree(observed: PairedMoments, cell: tuple[int, int], x: Any, y: Any) -> None:
    wanted = PairedMoments.of(np.asarray(x, float), np.asarray(y, float))
    for name in ("n", "mean_x", "mean_y", "m2_x", "m2_y", "co"):
        np.testing.assert_allclose(getattr(observed[cell], name), getattr(wanted, name), rtol=1e-9, atol=1e-3)
