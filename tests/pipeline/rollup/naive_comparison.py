"""Results held against a naive count of the same events: every number of an observation."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.design.units import is_clustered
from pipeline.store.event_columns import EventRow
from tests.builders import STARTED
from tests.examples import is_many
from tests.pipeline.rollup.naive_counting import Tally, tally
from tests.pipeline.rollup.naive_goals import local_date
from tests.pipeline.rollup.naive_persons import Person
from tests.pipeline.rollup.naive_values import (
    agree,
    below_of,
    compare_quantiles,
    compare_values,
    is_known,
    is_measured,
    known_in,
    paying_in,
    spent,
    value_of,
)
from tests.pipeline.working_store import WorkingStore

NOW = STARTED + timedelta(days=12)
QUESTIONS: tuple[tuple[dict[str, str], Callable[[EventRow], bool]], ...] = (
    ({}, lambda _: True),
    ({"device_type": "mobile"}, lambda row: row.device_type == "mobile"),
    ({"visitor_type": "returning"}, lambda row: row.visitor_type == "returning"),
    ({"visitor_identity": "identified"}, lambda row: row.visitor_identity == "identified"),
    (
        {"device_type": "mobile", "country": "us"},
        lambda row: (row.device_type, row.country) == ("mobile", "US"),
    ),
    (
        {"custom_dimension_key": "tier/1", "custom_dimension_value": "a"},
        lambda row: '"tier/1":"a"' in (row.custom or ""),
    ),
    (
        {"custom_dimension_key": "plan", "custom_dimension_value": "free", "country": "DE"},
        lambda row: '"free"' in (row.custom or "") and row.country == "DE",
    ),
)


def compare_all(
    store: WorkingStore, rows: list[EventRow], experiments: list[Experiment], project: Project
) -> None:
    """Compare everyone, and visitors by every filter; with few examples, each experiment has one filter."""
    now = NOW
    everybody, *filtered = QUESTIONS
    for place, experiment in enumerate(experiments):
        everyone = tally(rows, experiment, project)
        one = filtered[place % len(filtered)]
        for filters, admits in [everybody, *(filtered if is_many() else [one])]:
            wanted = tally(rows, experiment, project, admits) if filters else everyone
            observed = store.observe(experiment, project, filters, now=now)
            compare(observed, wanted, experiment, project)
            if is_clustered(experiment.unit):
                compare_units(observed, wanted, experiment, project)
                continue
            compare_values(observed, wanted.people, everyone.people, experiment, project)
            compare_quantiles(observed, wanted.people, experiment, project)
            if filters:
                assert observed.follow_up is None
            else:
                compare_followed(observed, wanted, experiment, project, today=local_date(now, project))


def compare(observed: Evidence, wanted: Tally, experiment: Experiment, project: Project) -> None:
    left_out = (observed.several_variants, observed.identity_conflicts, observed.bots)
    assert left_out == (wanted.several, wanted.conflicts, wanted.bots)
    days = observed.daily.days
    visitors: Counter[Any] = Counter()
    conversions: Counter[Any] = Counter()
    cents: Counter[Any] = Counter()
    amounts: dict[Any, float] = defaultdict(float)
    denominators: dict[Any, float] = defaultdict(float)
    for person in wanted.people:
        (variant,) = person.variants
        first = datetime.fromtimestamp(person.first.occurred_at / 1e6, UTC)
        visitors[local_date(first, project), variant] += 1
        for goal in experiment.goals:
            day = day_of_conversion(person, goal, project)
            conversions[day, goal.id, variant] += day is not None
            orders = person.orders.get(goal.id, [])
            for moment, amount in orders:
                cents[local_date(moment, project), goal.id, variant] += amount
            for summed, by_goal in ((amounts, person.amounts), (denominators, person.denominators)):
                for moment, taken in by_goal.get(goal.id, []):
                    summed[local_date(moment, project), goal.id, variant] += taken
    for v, variant in enumerate(one.id for one in experiment.variants):
        assert observed.daily.visitors[:, v].tolist() == [visitors[day, variant] for day in days]
        assert observed.visitors[v] == sum(visitors[day, variant] for day in days)
        for g, goal_id in enumerate(one.id for one in experiment.goals):
            assert observed.daily.conversions[:, g, v].tolist() == [
                conversions[day, goal_id, variant] for day in days
            ]
            assert observed.daily.revenue_cents[:, g, v].tolist() == [
                cents[day, goal_id, variant] for day in days
            ]
            agree_by_day(
                observed,
                experiment.goals[g],
                (g, v),
                [[by_day[day, goal_id, variant] for day in days] for by_day in (amounts, denominators)],
            )
            if experiment.goals[g].measure.word == "funnel":
                reached = [one.steps[goal_id] for one in wanted.people if one.variants == {variant}]
                steps = observed.funnels[g].visitors[:, v].tolist()
                assert steps == [sum(k > step for k in reached) for step in range(len(steps))]
            known = known_in(wanted.people, variant, experiment.goals[g], project)
            if experiment.goals[g].measure.word == "retained":
                assert observed.observed is not None
                assert observed.observed[g, v] == len(known)
            assert observed.totals.conversions[g, v] == observed.daily.conversions[:, g, v].sum()
            paying = paying_in(wanted.people, variant, experiment.goals[g], project)
            values = np.array([spent(one, experiment.goals[g]) for one in paying], float)
            assert observed.revenue.n[g, v] == values.size
            np.testing.assert_allclose(observed.revenue.total[g, v], values.sum(), atol=1e-6)
            spread = ((values - values.mean()) ** 2).sum() if values.size else 0.0
            np.testing.assert_allclose(observed.revenue.m2[g, v], spread, rtol=1e-12, atol=1e-3)


def agree_by_day(observed: Evidence, goal: Goal, cell: tuple[int, int], wanted: list[list[float]]) -> None:
    """Compare the amounts of a goal by day, and the denominators of a ratio."""
    kept = [observed.daily.amounts, observed.daily.denominators]
    for daily, values in zip(
        kept[: is_measured(goal) + (goal.measure.word == "ratio")], wanted, strict=False
    ):
        assert daily is not None
        np.testing.assert_allclose(daily[:, *cell], values, rtol=1e-12)


def day_of_conversion(person: Person, goal: Goal, project: Project) -> date | None:
    """Return the day of the first conversion; of retained visitors whose days are over that of exposure."""
    converted = person.converted.get(goal.id)
    if converted is None or goal.measure.word != "retained":
        return None if converted is None else local_date(converted, project)
    first = datetime.fromtimestamp(person.first.occurred_at / 1e6, UTC)
    return local_date(first, project) if is_known(person, goal, project) else None


def compare_followed(
    observed: Evidence, wanted: Tally, experiment: Experiment, project: Project, *, today: date
) -> None:
    """Follow everyone alone, day by day, up to the day before today."""
    assert observed.follow_up is not None
    variants = [variant.id for variant in experiment.variants]
    (goal,) = (goal.id for goal in experiment.goals if goal.is_primary)
    at_risk, hits = np.zeros((40, len(variants))), np.zeros((40, len(variants)))
    for person in wanted.people:
        (variant,) = person.variants
        arm = variants.index(variant)
        first = local_date(datetime.fromtimestamp(person.first.occurred_at / 1e6, UTC), project)
        converted = person.converted.get(goal)
        lag = None if converted is None else (local_date(converted, project) - first).days
        for day in range((today - first).days):
            at_risk[day, arm] += lag is None or lag >= day
            hits[day, arm] += lag == day
    days = len(observed.follow_up.at_risk)
    assert observed.follow_up.at_risk.tolist() == at_risk[:days].tolist()
    assert observed.follow_up.conversions.tolist() == hits[:days].tolist()
    assert hits[days:].sum() == 0


def compare_units(observed: Evidence, wanted: Tally, experiment: Experiment, project: Project) -> None:
    """Compare the sums of units: of goals by the visitors with a known outcome."""
    assert observed.clusters is not None
    assert observed.values is not None
    aside = (observed.clusters.visitors_of_several, observed.clusters.in_several, observed.clusters.in_none)
    assert aside == (wanted.of_several, wanted.in_several, wanted.in_none)
    for v, variant in enumerate(experiment.variants):
        them = [one for one in wanted.people if one.variants == {variant.id}]
        assert observed.clusters.total[v] == len({one.unit for one in them})
        for g, goal in enumerate(experiment.goals):
            known = [one for one in them if is_known(one, goal, project)]
            units = sorted({str(one.unit) for one in known})
            of_units = [[one for one in known if one.unit == unit] for unit in units]
            assert observed.clusters.known[g, v] == len(units)
            y = [sum(value_of(one, goal) for one in unit) for unit in of_units]
            x = [sum(denominator_of(one, goal) for one in unit) for unit in of_units]
            agree(observed.values.orders, (g, v), x, y)
            if experiment.statistics.cuped and goal.measure.word != "retained":
                everyone = [one.before[goal.id] for one in wanted.people]
                centre = sum(everyone) / len(everyone) if everyone else 0.0
                z = [sum(one.before[goal.id] - centre for one in unit) for unit in of_units]
                agree(observed.values.before, (g, v), z, y)


def denominator_of(person: Person, goal: Goal) -> float:
    if goal.measure.word == "ratio":
        return below_of(person, goal)
    return float(person.purchases[goal.id]) if goal.measure.is_per_order else 1.0
