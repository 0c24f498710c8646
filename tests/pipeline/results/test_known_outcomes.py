"""Goals whose outcomes take days: the service against a data frame of the same visitors, as days go by."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.weight_epochs import WeightEpoch
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted, Retained, Revenue, Value
from engine.frames.segments import analyze_frame_segments
from pipeline.results.filters import SegmentFilters
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from tests.builders import STARTED
from tests.pipeline.results.test_goal_amounts import alike
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event, an_exposure

HOUR = 60
DAY = 24 * HOUR
READERS = 1_000
DAYS = 6
# Visitors of day 0 are known on day 5, those of day 1 on day 6, and so on: days 2 and 3 are over then.
LATER = STARTED + timedelta(days=7)


def goals(**more: Any) -> tuple[Goal, ...]:
    config = {"event_name": "open", "measure": "retained", "from_day": 2, "to_day": 3, **more}
    return (Goal(id="goal_back", name="back", goal_type="custom_event", is_primary=True, config=config),)


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture(scope="module")
def readers() -> pl.DataFrame:
    rng = np.random.default_rng(9)
    arm = np.arange(READERS) % 2
    hours = rng.integers(1, 24 * 5, READERS)
    is_back = (hours >= 48) & (hours < 96) & (rng.random(READERS) < 0.7 + 0.2 * arm)
    return pl.DataFrame(
        {
            "who": [f"v{number}" for number in range(READERS)],
            "variant": np.where(arm == 0, "Control", "Treatment"),
            "day": rng.integers(0, DAYS, READERS),
            "hours": np.where(is_back | (hours < 48) | (hours >= 96), hours, 1),
            "country": np.array(["DE", "US"])[rng.integers(0, 2, READERS)],
        }
    ).with_columns(back=pl.col("hours").is_between(48, 95).cast(pl.Int64))


def events(readers: pl.DataFrame, experiment: Experiment) -> Iterator[EventRow]:
    for place, row in enumerate(readers.iter_rows(named=True)):
        at, who = row["day"] * DAY, row["who"]
        segments = {"country": row["country"], "device_type": "mobile"}
        yield an_exposure(experiment, place % 2, who, minute=at, **segments)
        yield an_event("custom_event", who, event_name="open", minute=at + row["hours"] * HOUR)
        yield an_event("custom_event", who, event_name="open", minute=at + 1)


def known(readers: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Keep the outcomes of those days whose visitors had their days 2 and 3 before `now`."""
    last = (now - STARTED).days - 5
    return readers.with_columns(pl.when(pl.col("day") <= last).then("back").alias("back"))


def analysed(readers: pl.DataFrame, now: datetime, **more: Any) -> Any:
    return analyze_frame(known(readers, now), control="Control", goals={"back": "retained"}, **more)


def served(store: WorkingStore, readers: pl.DataFrame, **fields: Any) -> tuple[Any, Experiment]:
    project = store.add_project()
    experiment = store.add_experiment(project, **{"goals": goals(), **fields})
    store.write(project, *events(readers, experiment))
    return project, experiment


def counts(evidence: Evidence) -> list[Any]:
    assert evidence.observed is not None
    return [evidence.observed.tolist(), evidence.conversions.tolist()]


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_retention_is_that_of_a_data_frame(store: WorkingStore, readers: pl.DataFrame, method: Any) -> None:
    project, experiment = served(store, readers, analysis_method=method)
    report = store.results.report(experiment, project, now=LATER, is_finished=True)
    alike(report, analysed(readers, LATER, analysis_method=method))
    treatment = report.goals[0].variants[1]
    assert 0 < (treatment.observed_visitors or 0) < treatment.visitors
    of_days = [of_day[treatment.variant_id].conversions for _, of_day in report.goals[0].days]
    assert sum(of_days) == treatment.conversions


def test_visitors_become_known_as_days_go_by_without_any_event(
    store: WorkingStore, readers: pl.DataFrame
) -> None:
    project, experiment = served(store, readers)
    found = []
    for days in range(4, 12):
        now = STARTED + timedelta(days=days)
        evidence = store.observe(experiment, project, now=now)
        found.append(counts(evidence))
        table = known(readers, now).drop_nulls("back").group_by("variant", maintain_order=False)
        wanted = {name: (n, back) for name, n, back in table.agg(pl.len(), pl.col("back").sum()).iter_rows()}
        arms = [wanted.get(name, (0, 0)) for name in ("Control", "Treatment")]
        assert found[-1] == [[[n for n, _ in arms]], [[back for _, back in arms]]]
    assert found[0][0] == [[0, 0]]
    assert sum(found[-1][0][0]) == READERS
    assert store.rollup.rebuild(project.id).drifted == ()
    assert counts(store.observe(experiment, project, now=now)) == found[-1]


def test_retention_where_weights_changed_and_in_segments(store: WorkingStore, readers: pl.DataFrame) -> None:
    project, experiment = served(store, readers)
    ids = [variant.id for variant in experiment.variants]
    moved = tuple(
        WeightEpoch(started_at=STARTED + timedelta(days=days), weights=dict(zip(ids, weights, strict=True)))
        for days, weights in ((0, (1.0, 1.0)), (1, (1.0, 3.0)))
    )
    experiment = store.change(experiment, weight_epochs=moved)
    evidence = store.observe(experiment, project, now=LATER)
    assert evidence.epochs is not None
    assert evidence.epochs.observed is not None
    assert evidence.observed is not None
    assert evidence.epochs.observed.sum(axis=0).tolist() == evidence.observed.tolist()
    report = store.results.report(experiment, project, now=LATER, is_finished=True)
    assert report.goals[0].variants[1].improvement is not None
    # One filter and two, and all segments at once.
    for country in ("DE", "US"):
        there = readers.filter(country=country)
        frame = analysed(there, LATER)
        for more in ({}, {"device_type": "mobile"}):
            some = store.observe(experiment, project, {"country": country, **more}, now=LATER)
            observed = [one.observed_visitors for one in frame.goals[0].variants]
            conversions = [one.conversions for one in frame.goals[0].variants]
            assert counts(some) == [[observed], [conversions]]
        found = store.results.segments(experiment, project, now=LATER, dimension="country").goals[0]
        (segment,) = [one for one in found.segments if one.value == country]
        assert segment.variants[0].mean == frame.goals[0].variants[1].mean
        assert segment.variants[0].improvement == pytest.approx(frame.goals[0].variants[1].improvement)
        assert segment.variants[0].chance_to_beat is not None


def test_cuped_leaves_retention_as_it_is(store: WorkingStore, readers: pl.DataFrame) -> None:
    statistics = Statistics(cuped=True)
    project, experiment = served(store, readers, statistics=statistics)
    report = store.results.report(experiment, project, now=LATER, is_finished=True)
    alike(report, analysed(readers, LATER))


def test_nothing_counts_after_the_end(store: WorkingStore, readers: pl.DataFrame) -> None:
    project, experiment = served(store, readers)
    at_the_end = counts(store.observe(experiment, project, now=LATER))
    ended = store.change(experiment, status="completed", completed_at=LATER)
    store.rollup.refresh(project.id)
    assert counts(store.observe(ended, project, now=LATER + timedelta(days=30))) == at_the_end


def test_a_snapshot_has_null_where_the_outcome_is_not_known(
    store: WorkingStore, readers: pl.DataFrame
) -> None:
    project, experiment = served(store, readers)
    store.rollup.refresh(project.id)
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    assert snapshot.goal_columns(experiment.id) == {"back": Retained(window=4)}
    visitors = snapshot.visitors(experiment.id).collect()
    as_of = snapshot.experiment(experiment.id).as_of
    wanted = known(readers, as_of).drop_nulls("back")
    assert visitors["back"].count() == wanted.height
    assert visitors["back"].sum() == wanted["back"].sum()


WINDOW = 2
LATEST = STARTED + timedelta(days=5)


def bought() -> tuple[Goal, ...]:
    """Goals of which events count for two days: a purchase is worth the hours before it."""
    buy = {"event_name": "buy", "window": WINDOW}
    return (
        Goal(id="goal_buy", name="buy", goal_type="custom_event", is_primary=True, config=buy),
        Goal(id="goal_score", name="score", goal_type="custom_event", config={**buy, "measure": "value"}),
        Goal(id="goal_paid", name="paid", goal_type="revenue", config=buy),
    )


def purchases(readers: pl.DataFrame, experiment: Experiment) -> Iterator[EventRow]:
    for place, row in enumerate(readers.iter_rows(named=True)):
        at, who = row["day"] * DAY, row["who"]
        yield an_exposure(experiment, place % 2, who, minute=at, country=row["country"])
        money = {"value": float(row["hours"]), "currency": "USD", "event_name": "buy"}
        minute = at + row["hours"] * HOUR
        yield an_event("custom_event", who, minute=minute, **money)
        yield an_event("conversion", who, minute=minute, **money)


def bought_in_time(readers: pl.DataFrame, now: datetime) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what all visitors bought within the window, and those whose window is over."""
    hours = pl.col("hours") * (pl.col("hours") <= WINDOW * 24)
    everyone = readers.with_columns(
        buy=(hours > 0).cast(pl.Int64), score=hours.cast(pl.Float64), paid=hours.cast(pl.Float64)
    )
    return everyone, everyone.filter(pl.col("day") <= (now - STARTED).days - WINDOW - 1)


@pytest.mark.parametrize("cuped", [False, True])
def test_goals_with_a_window_compare_the_visitors_whose_window_is_over(
    store: WorkingStore,
    readers: pl.DataFrame,
    cuped: bool,  # noqa: FBT001
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=bought(), statistics=Statistics(cuped=cuped))
    store.write(project, *purchases(readers, experiment))
    now = STARTED + timedelta(days=5)
    report = store.results.report(experiment, project, now=now)
    everyone, known_ones = bought_in_time(readers, now)
    assert 0 < known_ones.height < everyone.height
    kinds = {"buy": Converted(), "score": Value(), "paid": Revenue()}
    wanted = analyze_frame(known_ones, control="Control", goals={**kinds})
    for goal, expected in zip(report.goals, wanted.goals, strict=True):
        for found, arm in zip(goal.variants, expected.variants, strict=True):
            so_far = everyone.filter(variant=arm.variant_name)
            assert (found.visitors, found.observed_visitors) == (so_far.height, arm.visitors)
            assert found.conversions == so_far["buy"].sum()
            assert found.conversion_rate == pytest.approx(so_far["buy"].mean())
            assert found.improvement == pytest.approx(arm.improvement)
            assert found.p_value == pytest.approx(arm.p_value)
    cents = [round(100 * everyone.filter(variant=name)["paid"].sum()) for name in ("Control", "Treatment")]
    assert [one.revenue_cents for one in report.goals[2].variants] == cents
    plan = report.plan
    assert (plan.collected_visitors, plan.observed_visitors) == (everyone.height, known_ones.height)
    assert report.plan.open_visitors == everyone.height - known_ones.height


def test_windows_in_segments_and_where_weights_changed(store: WorkingStore, readers: pl.DataFrame) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=bought())
    store.write(project, *purchases(readers, experiment))
    now = STARTED + timedelta(days=5)
    everyone, known_ones = bought_in_time(readers.filter(country="DE"), now)
    wanted = analyze_frame(known_ones, control="Control", goals={"buy": Converted(), "score": Value()})
    some = store.results.report(experiment, project, SegmentFilters({"country": "DE"}), now=now)
    for place, expected in enumerate(wanted.goals):
        found = store.results.segments(experiment, project, now=now, dimension="country").goals[place]
        (segment,) = [one for one in found.segments if one.value == "DE"]
        treatment = expected.variants[1]
        assert segment.variants[0].improvement == pytest.approx(treatment.improvement)
        assert some.goals[place].variants[1].improvement == pytest.approx(treatment.improvement)
        assert segment.variants[0].conversions == everyone.filter(variant="Treatment")["buy"].sum()
    ids = [variant.id for variant in experiment.variants]
    moved = tuple(
        WeightEpoch(started_at=STARTED + timedelta(days=days), weights=dict(zip(ids, weights, strict=True)))
        for days, weights in ((0, (1.0, 1.0)), (1, (1.0, 3.0)))
    )
    experiment = store.change(experiment, weight_epochs=moved)
    evidence = store.observe(experiment, project, now=now)
    assert evidence.epochs is not None
    assert evidence.epochs.trials.sum(axis=0).tolist() == evidence.trials.tolist()
    # Without weights that differ in effect, the epochs together are as the whole.
    totals = evidence.epochs.revenue.total.sum(axis=0)
    assert totals == pytest.approx(evidence.revenue.total)


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_snapshot_tells_whose_window_is_over(tmp_path: Path, readers: pl.DataFrame, epochs: int) -> None:
    with a_working_store(tmp_path, clock=lambda: LATEST) as store:
        compare_with_snapshot(store, readers, epochs)


def compare_with_snapshot(store: WorkingStore, readers: pl.DataFrame, epochs: int) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=bought())
    store.write(project, *purchases(readers, experiment))
    ids = [variant.id for variant in experiment.variants]
    moved = tuple(
        WeightEpoch(started_at=STARTED + timedelta(days=days), weights=dict.fromkeys(ids, 1.0))
        for days in (0, 1)
    )
    experiment = store.change(experiment, weight_epochs=moved[:epochs] if epochs > 1 else ())
    served = store.results.report(experiment, project, now=LATEST)
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    assert snapshot.goal_columns(experiment.id) == {
        "buy": Converted(window=WINDOW, known="buy: known"),
        "score": Value(window=WINDOW, known="score: known"),
        "paid": Revenue(window=WINDOW, known="paid: known", currency="USD"),
    }
    visitors, arguments = snapshot.visitors(experiment.id), snapshot.analysis(experiment.id)
    analysed = analyze_frame(visitors, **arguments)
    alike(served, analysed)
    for ours, theirs in zip(served.goals, analysed.goals, strict=True):
        for found, wanted in zip(ours.variants, theirs.variants, strict=True):
            assert 0 < (found.observed_visitors or 0) < found.visitors
            assert (found.observed_visitors, found.revenue_cents) == (
                wanted.observed_visitors,
                wanted.revenue_cents,
            )
    names = ("required_visitors", "observed_visitors", "collected_visitors", "open_visitors", "days_left")
    assert [getattr(served.plan, name) for name in names] == [getattr(analysed.plan, name) for name in names]
    by_segment = analyze_frame_segments(
        visitors, segments=["country"], control="Control", goals=snapshot.goal_columns(experiment.id)
    )
    found_segments = store.results.segments(experiment, project, now=LATEST, dimension="country")
    for ours_by, theirs_by in zip(found_segments.goals, by_segment.goals, strict=True):
        for one, other in zip(ours_by.segments, theirs_by.segments, strict=True):
            assert one.variants[0].improvement == pytest.approx(other.variants[0].improvement)
            assert one.variants[0].conversions == other.variants[0].conversions
            assert one.variants[0].mean == pytest.approx(other.variants[0].mean)


def test_both_ends_of_the_days_are_to_the_microsecond(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    second = 1 / 60
    store.write(
        project,
        *(an_exposure(experiment, 0, who, minute=0) for who in "abcd"),
        an_event("custom_event", "a", event_name="open", minute=2 * DAY - second),
        an_event("custom_event", "b", event_name="open", minute=2 * DAY),
        an_event("custom_event", "c", event_name="open", minute=4 * DAY - second),
        an_event("custom_event", "d", event_name="open", minute=4 * DAY),
    )
    evidence = store.observe(experiment, project, now=LATER)
    assert counts(evidence) == [[[4, 0]], [[2, 0]]]
