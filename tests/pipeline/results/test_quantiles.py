"""Quantiles of events: the service against the values themselves, whatever arrives when."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.design.weight_epochs import WeightEpoch
from engine.stats.frequentist.quantiles import ValueCounts, compare_quantiles, quantile_interval
from pipeline.erasure import person_erasure
from pipeline.store.event_columns import EventRow
from tests.builders import NOW, STARTED
from tests.pipeline.working_store import WorkingStore, an_event, an_exposure

VISITORS = 1_200
MEDIAN = {"event_name": "load", "measure": "quantile", "direction": "decrease"}
SLOWEST = {**MEDIAN, "q": 0.9, "of": "event"}


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def goal(config: dict[str, Any], *, place: int = 0) -> Goal:
    return Goal(
        id=f"goal_{place}",
        name=f"load {place}",
        goal_type="custom_event",
        is_primary=place == 0,
        config=config,
    )


GOALS = (goal(MEDIAN), goal(SLOWEST, place=1))


def drawn(seed: int = 7, slower: float = 1.0) -> list[list[float]]:
    """Draw the values of each visitor's events, some without any; odd ones see the treatment."""
    rng = np.random.default_rng(seed)
    return [
        np.round(
            (slower if who % 2 else 1.0)
            * np.exp(3.0 + 0.6 * rng.normal() + 0.6 * rng.normal(size=rng.poisson(2.0))),
            4,
        ).tolist()
        for who in range(VISITORS)
    ]


def rows_of(experiment: Experiment, loads: list[list[float]]) -> list[EventRow]:
    rows = []
    for who, values in enumerate(loads):
        attributes = {"device_type": ("mobile", "desktop")[who // 2 % 2], "country": "DE"}
        rows.append(an_exposure(experiment, who % 2, f"v{who}", minute=who / 10, **attributes))
        # An event without a value says nothing.
        rows += (
            an_event("custom_event", f"v{who}", event_name="load", value=value, minute=who / 10 + 1)
            for value in [*values, None]
        )
    return rows


def report_of(
    store: WorkingStore, project: Project, loads: list[list[float]], **settings: Any
) -> tuple[Experiment, Report]:
    experiment = store.add_experiment(project, **{"goals": GOALS, **settings})
    store.write(project, *rows_of(experiment, loads))
    store.rollup.refresh(project.id)
    return experiment, store.results.report(experiment, project, now=NOW)


def treatment(report: Report, place: int = 0) -> VariantResult:
    return report.goals[place].variants[1]


def sums(loads: list[list[float]], arm: int) -> list[float]:
    return [sum(values) for who, values in enumerate(loads) if values and who % 2 == arm]


def test_bucketed_quantiles_are_within_one_percent_of_the_exact_ones(
    store: WorkingStore, project: Project
) -> None:
    loads = drawn(slower=1.6)
    _, report = report_of(store, project, loads)
    control, variant = (ValueCounts.of(sums(loads, arm)) for arm in (0, 1))
    exact, found = compare_quantiles(control, variant, 0.5, 0.05), treatment(report)
    assert found.mean == pytest.approx(float(variant.quantiles(0.5)), rel=0.01)
    assert (found.visitors, found.observed_visitors) == (VISITORS / 2, variant.n)
    # In percent points of the lift, each quantile being within 1%.
    assert found.improvement_interval is not None
    assert found.improvement_interval.low == pytest.approx(float(exact.lift_low), abs=0.02)
    assert found.improvement_interval.high == pytest.approx(float(exact.lift_high), abs=0.02)
    low, high = map(float, quantile_interval(variant, 0.5, 0.05))
    assert found.rate_interval is not None
    assert (found.rate_interval.low, found.rate_interval.high) == pytest.approx((low, high), rel=0.01)
    assert found.status == "loser"
    of_events = np.concatenate([values for who, values in enumerate(loads) if who % 2])
    slowest = treatment(report, 1)
    assert slowest.mean == pytest.approx(float(ValueCounts.of(of_events).quantiles(0.9)), rel=0.01)
    # Those of visitors, whatever they loaded.
    assert slowest.observed_visitors == variant.n


def test_late_events_move_visitors_from_bucket_to_bucket_as_a_full_count_does(
    store: WorkingStore, project: Project
) -> None:
    before, after = drawn(), drawn()
    experiment, first = report_of(store, project, before)
    for who in range(0, 100, 3):
        after[who].append(500.0 + who)
    late = (
        an_event("custom_event", f"v{who}", event_name="load", value=values[-1], minute=300)
        for who, values in enumerate(after)
        if len(values) > len(before[who])
    )
    store.write(project, *late)
    assert store.rollup.refresh(project.id).updated == (experiment.id,)
    moved = store.results.report(experiment, project, now=NOW)
    assert store.rollup.rebuild(project.id).drifted == ()
    anew = store.results.report(experiment, project, now=NOW)
    for place in range(2):
        found = [treatment(report, place) for report in (moved, anew)]
        assert [one.mean for one in found] == [found[0].mean] * 2
        assert [one.compared.log_p_value for one in found] == [found[0].compared.log_p_value] * 2
        assert found[0].compared.log_p_value != treatment(first, place).compared.log_p_value
    control = moved.goals[0].variants[0].mean
    assert control == pytest.approx(float(ValueCounts.of(sums(after, 0)).quantiles(0.5)), rel=0.01)


def test_an_erased_visitor_leaves_its_bucket(store: WorkingStore, project: Project) -> None:
    loads = drawn()
    experiment, _ = report_of(store, project, loads)
    erased = next(who for who, values in enumerate(loads) if values)
    person_erasure.erase(store, project, f"v{erased}", id_type="visitor", actor="test")
    found = store.observe(experiment, project).quantiles[0]
    assert found.visitors == (len(sums(loads, 0)) - 1, len(sums(loads, 1)))


@pytest.mark.parametrize("device", ["mobile", "desktop"])
def test_a_segment_is_what_results_are_filtered_by(
    store: WorkingStore, project: Project, device: str
) -> None:
    experiment, _ = report_of(store, project, drawn(slower=1.6))
    evidence = store.results.segment_evidence(experiment, project, now=NOW)
    row = [str(one) for one in evidence.segments].index(f"device type '{device}'")
    for place in range(2):
        here = evidence.quantiles[place].of_segments()[row]
        # The second has to be counted by visitor.
        for filters in ({"device_type": device}, {"device_type": device, "country": "DE"}):
            wanted = store.observe(experiment, project, filters).quantiles[place]
            assert here.visitors == wanted.visitors
            for one, arm in zip(here.arms, wanted.arms, strict=True):
                assert one.counts.tolist() == arm.counts.tolist()
                assert one.design_effect == pytest.approx(arm.design_effect)
    segments = store.results.segments(experiment, project, now=NOW).goals[0].segments
    found = next(one for one in segments if one.value == device).variants[0]
    mean = evidence.quantiles[0].of_segments()[row].moments().mean[1]
    assert (found.status, found.mean) == ("worse", mean)


def test_visitors_count_once_their_window_is_over(store: WorkingStore, project: Project) -> None:
    goals = (goal({**MEDIAN, "window": 1}),)
    loads = drawn()
    experiment, report = report_of(store, project, loads, goals=goals)
    # All came on the first day, which is over for those of its first hours only at the end of the second.
    assert treatment(report).observed_visitors == 0
    later = store.results.report(experiment, project, now=NOW + timedelta(days=2))
    assert treatment(later).visitors == VISITORS / 2


def test_cuped_leaves_quantiles_as_they_are(store: WorkingStore, project: Project) -> None:
    statistics = Statistics(cuped=True, pre_period_days=7)
    loads = drawn(slower=1.2)
    _, adjusted = report_of(store, project, loads, statistics=statistics)
    _, plain = report_of(store, store.add_project(), loads)
    for place in range(2):
        assert treatment(adjusted, place).details.unadjusted is None
        assert treatment(adjusted, place).compared.log_p_value == treatment(plain, place).compared.log_p_value


def test_where_weights_changed_quantiles_are_shown_and_not_compared(
    store: WorkingStore, project: Project
) -> None:
    epochs = tuple(
        WeightEpoch(started_at=STARTED + timedelta(hours=hour), weights={"var_0": 1.0, "var_1": weight})
        for hour, weight in ((0, 1.0), (1, 3.0))
    )
    loads = drawn(slower=1.5)
    _, report = report_of(store, project, loads, weight_epochs=epochs)
    found = treatment(report)
    assert (found.status, found.p_value) == ("insufficient_data", None)
    assert found.mean == pytest.approx(float(ValueCounts.of(sums(loads, 1)).quantiles(0.5)), rel=0.01)
    assert found.reason is not None
    assert "weights changed" in found.reason


def test_a_bayesian_report_has_the_chance_to_beat(store: WorkingStore, project: Project) -> None:
    _, report = report_of(store, project, drawn(slower=1.6), analysis_method="bayesian")
    assert treatment(report).chance_to_beat == pytest.approx(0.0, abs=0.01)


def test_a_quantile_as_a_guardrail_is_broken_by_slower_events(store: WorkingStore, project: Project) -> None:
    goals = (
        Goal(
            id="seen", name="seen", goal_type="custom_event", is_primary=True, config={"event_name": "load"}
        ),
        goal({**SLOWEST, "guardrail_margin_percent": 5}, place=1),
    )
    _, report = report_of(store, project, drawn(slower=1.6), goals=goals)
    assert report.goals[0].decision.recommendation == "rollback"
