"""Funnels of events: the service against a data frame of the same events."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.weight_epochs import WeightEpoch
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted, Funnel
from engine.frames.segments import analyze_frame_segments
from pipeline.results.filters import SegmentFilters
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.visitors import result_table
from tests.builders import NOW, STARTED
from tests.pipeline.results.test_goal_amounts import alike
from tests.pipeline.working_store import WorkingStore, an_event, an_exposure

HOUR = 60
BUYERS = 400
STEPS = ("view", "cart", "buy")
GOAL = Goal(
    id="goal_buy",
    name="bought",
    goal_type="custom_event",
    is_primary=True,
    config={
        "event_name": "buy",
        "measure": "funnel",
        "steps": [{"goal_type": "pageview", "url": "https://shop.example/"}, {"event_name": "cart"}],
    },
)
FRAME: dict[str, Any] = {"control": "Control", "goals": {"bought": Funnel(*STEPS)}}


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture(scope="module")
def done() -> pl.DataFrame:
    """Draw a row for each exposure and each step done, in any order; minutes are whole hours, with ties."""
    rng = np.random.default_rng(5)
    rows = []
    for number in range(BUYERS):
        hour, arm = int(rng.integers(0, 6)), number % 2
        one = {
            "who": f"v{number}",
            "variant": ("Control", "Treatment")[arm],
            "country": ("DE", "US")[rng.integers(0, 2)],
            "bought_before": bool(rng.random() < 0.4),
        }
        rows.append({**one, "hour": hour, "step": None})
        chances = (0.9, 0.7 + 0.1 * arm, 0.6)
        rows += [
            {**one, "hour": hour + int(rng.integers(0, 5)), "step": step}
            for step, chance in zip(STEPS, chances, strict=True)
            for _ in range(2)
            if rng.random() < chance
        ]
    frame = pl.DataFrame(rows, schema_overrides={"step": pl.String})
    return frame.with_columns(
        pl.lit(STARTED).add(pl.duration(hours="hour")).alias("at"),
        *(pl.col("step").eq(step).fill_null(value=False).alias(step) for step in STEPS),
    )


def events(done: pl.DataFrame, experiment: Experiment) -> Iterator[EventRow]:
    """List the events, with a funnel before the exposure of those who bought before."""
    for row in done.iter_rows(named=True):
        who, at = row["who"], row["hour"] * HOUR
        if row["step"] is not None:
            yield of_step(row["step"], who, at)
            continue
        place = ("Control", "Treatment").index(row["variant"])
        yield an_exposure(experiment, place, who, minute=at, country=row["country"], device_type="mobile")
        order = STEPS if row["bought_before"] else STEPS[::-1]
        for number, step in enumerate(order):
            yield of_step(step, who, at - 9 * HOUR + number)


def of_step(step: str, who: str, minute: int) -> EventRow:
    if step == "view":
        return an_event("pageview", who, url="https://shop.example/", minute=minute)
    return an_event("custom_event", who, event_name=step, minute=minute)


def visitors_by_step(variant: VariantResult) -> list[int]:
    assert variant.details.steps is not None
    return [step.visitors for step in variant.details.steps]


def test_funnels_are_those_of_a_data_frame(store: WorkingStore, done: pl.DataFrame) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=(GOAL,))
    rows = list(events(done, experiment))
    # Half of what visitors did comes later, so that orders of steps change.
    for part in (rows[::3], rows[1::3], rows[2::3]):
        store.write(project, *part)
        store.rollup.refresh(project.id)
    methods: list[dict[str, Any]] = [{}, {"analysis_method": "bayesian"}]
    for more in methods:
        experiment = store.change(experiment, **more)
        report = store.results.report(experiment, project, now=NOW, is_finished=True)
        wanted = analyze_frame(done, **FRAME, visitor="who", timestamp="at", **more)
        alike(report, wanted)
        found = report.goals[0].variants
        assert [one.conversions for one in found] == [one.conversions for one in wanted.goals[0].variants]
        assert [visitors_by_step(one) for one in found] == [
            visitors_by_step(one) for one in wanted.goals[0].variants
        ]
        assert found[0].details.steps is not None
        assert [step.name for step in found[0].details.steps] == ["https://shop.example/", "cart", "buy"]
        assert (found[1].compared.sequential_interval is not None) == (not more)
    assert 0 < found[0].conversions < done.filter(pl.col("buy"), variant="Control")["who"].n_unique()
    assert store.rollup.rebuild(project.id).drifted == ()


def test_funnels_are_compared_within_weight_epochs(store: WorkingStore, done: pl.DataFrame) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=(GOAL,))
    changed_at = STARTED + timedelta(hours=3)
    weights = [{"Control": 50.0, "Treatment": 50.0}, {"Control": 20.0, "Treatment": 80.0}]
    by_id = [
        {one.id: share for one, share in zip(experiment.variants, by_name.values(), strict=True)}
        for by_name in weights
    ]
    epochs = tuple(
        WeightEpoch(started_at=at, weights=of_epoch)
        for at, of_epoch in zip((STARTED, changed_at), by_id, strict=True)
    )
    experiment = store.change(experiment, weight_epochs=epochs)
    store.write(project, *events(done, experiment))
    report = store.results.report(experiment, project, now=NOW, is_finished=True)
    given = list(zip((STARTED, changed_at), weights, strict=True))
    wanted = analyze_frame(done, **FRAME, visitor="who", timestamp="at", weight_epochs=given)
    alike(report, wanted)
    assert report.estimand is not None
    assert [visitors_by_step(one) for one in report.goals[0].variants] == [
        visitors_by_step(one) for one in wanted.goals[0].variants
    ]


def test_cuped_adjusts_a_funnel_by_the_one_before(store: WorkingStore, done: pl.DataFrame) -> None:
    project = store.add_project()
    statistics = Statistics(cuped=True, pre_period_days=2)
    experiment = store.add_experiment(project, goals=(GOAL,), statistics=statistics)
    store.write(project, *events(done, experiment))
    report = store.results.report(experiment, project, now=NOW, is_finished=True)
    goals = {name: goal.with_options(covariates="bought_before") for name, goal in FRAME["goals"].items()}
    frame = done.with_columns(pl.col("bought_before").cast(pl.Int64))
    alike(report, analyze_frame(frame, **{**FRAME, "goals": goals}, visitor="who", timestamp="at"))
    assert report.goals[0].variants[1].details.unadjusted is not None


def test_segments_of_a_funnel_are_those_of_a_data_frame(store: WorkingStore, done: pl.DataFrame) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=(GOAL,))
    store.write(project, *events(done, experiment))
    found = store.results.segments(experiment, project, now=NOW, dimension="country")
    wanted = analyze_frame_segments(done, **FRAME, segments=["country"], visitor="who", timestamp="at")
    assert len(wanted.goals[0].segments) == done["country"].n_unique()
    for one, other in zip(found.goals[0].segments, wanted.goals[0].segments, strict=True):
        for name in ("conversions", "improvement", "rest_improvement", "chance_to_beat"):
            expected = getattr(other.variants[0], name)
            assert getattr(one.variants[0], name) == (expected and pytest.approx(expected, rel=1e-9))


def test_steps_count_within_the_window_of_the_goal(store: WorkingStore) -> None:
    project = store.add_project()
    short = Goal(
        id=GOAL.id,
        name=GOAL.name,
        goal_type=GOAL.goal_type,
        is_primary=True,
        config={**GOAL.config, "window": 1},
    )
    experiment = store.add_experiment(project, goals=(short,))
    for number, hours in enumerate((23, 25)):
        who = f"v{number}"
        store.write(
            project,
            an_exposure(experiment, 0, who),
            *(of_step(step, who, place) for place, step in enumerate(STEPS[:2], 1)),
            of_step("buy", who, hours * HOUR),
        )
    report = store.results.report(experiment, project, now=STARTED + timedelta(days=5), is_finished=True)
    assert [one.conversions for one in report.goals[0].variants] == [1, 0]


def test_a_snapshot_has_the_visitors_at_each_step_of_a_funnel(
    store: WorkingStore, done: pl.DataFrame
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=(GOAL,))
    store.write(project, *events(done, experiment))
    report = store.results.report(experiment, project, now=NOW)
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    of_snapshot = analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))
    for found, wanted in zip(report.goals[0].variants, of_snapshot.goals[0].variants, strict=True):
        assert 0 < found.conversions == wanted.conversions
        assert (found.mean, found.improvement) == (wanted.mean, wanted.improvement)
        assert visitors_by_step(found) == visitors_by_step(wanted)
    assert wanted.details.steps is not None
    assert wanted.details.steps[1].name == "bought: 2. cart"


def test_steps_are_of_the_filtered_visitors_and_absent_where_they_were_not_counted(
    store: WorkingStore, done: pl.DataFrame
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=(GOAL,))
    store.write(project, *events(done, experiment))
    filters = SegmentFilters({"country": "DE"})
    found = store.results.report(experiment, project, filters=filters, now=NOW).goals[0].variants
    wanted = analyze_frame(done.filter(country="DE"), **FRAME, visitor="who", timestamp="at")
    assert [visitors_by_step(one) for one in found] == [
        visitors_by_step(one) for one in wanted.goals[0].variants
    ]
    with store.warehouse.transaction() as cursor:
        cursor.execute(f"ALTER TABLE {result_table('visitors', experiment.id)} DROP COLUMN g0_steps")
        cursor.execute(f"DROP TABLE {result_table('extremes', experiment.id)}")
    before = store.results.report(experiment, project, now=NOW).goals[0].variants
    assert [one.details.steps for one in before] == [None, None]
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    assert snapshot.goal_columns(experiment.id) == {"bought": Converted()}
