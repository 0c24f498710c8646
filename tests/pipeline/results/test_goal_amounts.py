"""Goals measured by counts and values: the service against a data frame of the same visitors."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.design.weight_epochs import WeightEpoch
from engine.frames.analyze import analyze_frame
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Count, Revenue, Value
from engine.frames.segments import analyze_frame_segments
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from tests.builders import NOW, STARTED
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

HOUR = 60
DAY = 24 * HOUR
VISITORS = 600
KINDS: dict[str, FrameGoal] = {"views": Count(), "score": Value(less_is_better=True)}
# What depends on the test alone, and not on days or on sums of money.
COMPARED = (
    *("mean", "improvement", "log_p_value", "confidence", "score_value", "absolute_difference"),
    *("chance_to_beat", "chance_to_be_best", "expected_loss", "visitors", "conversions", "status"),
)
INTERVALS = ("improvement_interval", "sequential_interval", "absolute_difference_interval", "rate_interval")


def goals(**of_score: Any) -> tuple[Goal, ...]:
    views = {"event_name": "view", "measure": "count"}
    score = {"event_name": "score", "measure": "value", "direction": "decrease", **of_score}
    return (
        Goal(id="goal_views", name="views", goal_type="custom_event", is_primary=True, config=views),
        Goal(id="goal_score", name="score", goal_type="custom_event", config=score),
    )


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture(scope="module")
def readers() -> pl.DataFrame:
    """Draw views and scores of visitors, before and since exposure: more before goes with more since."""
    rng = np.random.default_rng(31)
    taste = rng.gamma(1.5, 1.0, VISITORS)
    arm = np.arange(VISITORS) % 2
    views = rng.poisson(taste * (1 + 0.4 * arm))
    return pl.DataFrame(
        {
            "who": [f"v{number}" for number in range(VISITORS)],
            "variant": np.where(arm == 0, "Control", "Treatment"),
            "views": views,
            "score": np.where(views > 0, (taste * rng.normal(2, 3, VISITORS)).round(4), 0.0),
            "views_before": rng.poisson(taste),
            "score_before": (taste * rng.normal(1, 1, VISITORS)).round(4),
            "country": np.array(["DE", "US"])[rng.integers(0, 2, VISITORS)],
            "hour": rng.integers(0, 12, VISITORS),
        }
    )


def events(readers: pl.DataFrame, experiment: Experiment) -> Iterator[EventRow]:
    for place, row in enumerate(readers.iter_rows(named=True)):
        who, at = row["who"], row["hour"] * HOUR
        yield an_exposure(experiment, place % 2, who, minute=at, country=row["country"])
        yield an_event("custom_event", who, event_name="view", minute=-40 * DAY)
        for number in range(row["views_before"]):
            yield an_event("custom_event", who, event_name="view", minute=-DAY - number)
        for number in range(row["views"]):
            yield an_event("custom_event", who, event_name="view", minute=at + 1 + 30 * number)
        yield an_event("custom_event", who, event_name="score", value=row["score_before"], minute=-DAY)
        if row["score"]:
            half = round(row["score"] / 2, 4)
            yield an_event("custom_event", who, event_name="score", value=half, minute=at + 5)
            rest = round(row["score"] - half, 4)
            yield an_event("custom_event", who, event_name="score", value=rest, minute=at + 200)


def served(store: WorkingStore, readers: pl.DataFrame, **fields: Any) -> tuple[Project, Experiment]:
    project = store.add_project()
    experiment = store.add_experiment(project, **{"goals": goals(), **fields})
    store.write(project, *events(readers, experiment))
    return project, experiment


def alike(served: Report, analysed: Report) -> None:
    """Compare every variant of every goal; intervals and scores to nine digits."""
    assert len(served.goals) == len(analysed.goals)
    for ours, theirs in zip(served.goals, analysed.goals, strict=True):
        for found, wanted in zip(ours.variants, theirs.variants, strict=True):
            for name in COMPARED:
                expected = flatten(wanted)[name]
                is_number = isinstance(expected, float)
                assert flatten(found)[name] == (pytest.approx(expected, rel=1e-9) if is_number else expected)
            for name in INTERVALS:
                assert bounds(found, name) == pytest.approx(bounds(wanted, name), rel=1e-9)
            # A frame without times has no days, and so no year.
            capped = found.details.capped and replace(
                found.details.capped, projected_annual_revenue_impact_cents=None
            )
            assert capped == wanted.details.capped
            assert (found.details.unadjusted is None) == (wanted.details.unadjusted is None)


def bounds(result: VariantResult, name: str) -> list[float]:
    interval = flatten(result)[name]
    return [] if interval is None else [interval.low, interval.high, interval.level]


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, {}),
        ({"analysis_method": "bayesian"}, {}),
        ({"goals": goals(cap_percentile=90)}, {"score": {"cap_percentile": 90}}),
        (
            {"statistics": Statistics(cuped=True)},
            {"views": {"covariates": "views_before"}, "score": {"covariates": "score_before"}},
        ),
    ],
    ids=["plain", "bayesian", "capped", "cuped"],
)
def test_counts_and_values_are_those_of_a_data_frame(
    store: WorkingStore, readers: pl.DataFrame, fields: dict[str, Any], options: dict[str, Any]
) -> None:
    project, experiment = served(store, readers, **fields)
    report = store.results.report(experiment, project, now=NOW, is_finished=True)
    frame = analyze_frame(
        readers,
        control="Control",
        goals={name: goal.with_options(**options.get(name, {})) for name, goal in KINDS.items()},
        analysis_method=fields.get("analysis_method", "frequentist"),
    )
    alike(report, frame)
    (views, _) = report.goals
    assert views.variants[1].mean == readers.filter(variant="Treatment")["views"].mean()
    # The days' events add up to all of them.
    total = sum(of_day[views.variants[1].variant_id].amount or 0 for _, of_day in views.days)
    assert total == readers.filter(variant="Treatment")["views"].sum()


def test_amounts_where_weights_changed_and_in_segments_are_those_of_a_data_frame(
    store: WorkingStore, readers: pl.DataFrame
) -> None:
    change = STARTED + timedelta(hours=5)
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    ids = [variant.id for variant in experiment.variants]
    epochs = [(STARTED, (1.0, 1.0)), (change, (1.0, 3.0))]
    moved = tuple(
        WeightEpoch(started_at=start, weights=dict(zip(ids, weights, strict=True)))
        for start, weights in epochs
    )
    experiment = store.change(experiment, weight_epochs=moved)
    store.write(project, *events(readers, experiment))
    report = store.results.report(experiment, project, now=NOW, is_finished=True)
    timed = readers.with_columns(at=pl.lit(STARTED) + pl.duration(hours="hour"))
    names = ("Control", "Treatment")
    changes = [(start, dict(zip(names, weights, strict=True))) for start, weights in epochs]
    frame: dict[str, Any] = {"control": "Control", "goals": KINDS}
    alike(report, analyze_frame(timed, **frame, timestamp="at", weight_epochs=changes))
    found = store.results.segments(experiment, project, now=NOW, dimension="country")
    wanted = analyze_frame_segments(
        timed, **frame, segments=["country"], timestamp="at", weight_epochs=changes
    )
    for ours, theirs in zip(found.goals, wanted.goals, strict=True):
        assert len(ours.segments) == len(theirs.segments) == 2
        for one, other in zip(ours.segments, theirs.segments, strict=True):
            for name in ("mean", "improvement", "shrunk_improvement", "chance_to_beat"):
                assert getattr(one.variants[0], name) == pytest.approx(
                    getattr(other.variants[0], name), rel=1e-9
                )
    # Two filters are answered from visitor rows.
    filters = {"country": "us", "visitor_type": "new"}
    evidence = store.observe(experiment, project, filters)
    assert evidence.values is not None
    assert evidence.epochs is not None
    assert evidence.epochs.values.sum_over(0).mean == pytest.approx(evidence.values.value.mean)


def test_events_after_the_window_of_a_goal_are_not_in_a_data_frame_either(store: WorkingStore) -> None:
    rng = np.random.default_rng(13)
    log = pl.DataFrame(
        {
            "who": rng.integers(0, 200, 900),
            "hours": rng.integers(1, 24 * 6, 900),
            "value": rng.normal(2, 3, 900).round(4),
        }
    ).with_columns(cents=(pl.col("value").abs() * 100).round().cast(pl.Int64))
    windows = {"done": 1, "spent": 4, "views": 2, "score": 3}
    configs = {"done": {}, "spent": {}, "views": {"measure": "count"}, "score": {"measure": "value"}}
    spans = tuple(
        Goal(
            id=f"goal_{name}",
            name=name,
            goal_type="revenue" if name == "spent" else "custom_event",
            is_primary=name == "done",
            config={"event_name": "spent" if name == "spent" else "view", "window": days, **configs[name]},
        )
        for name, days in windows.items()
    )
    project = store.add_project()
    experiment = store.add_experiment(project, goals=spans)
    shown = (an_exposure(experiment, who % 2, f"v{who}", country="DE") for who in range(200))
    tracked = (
        event
        for who, hours, value, cents in log.iter_rows()
        for event in (
            an_event("custom_event", f"v{who}", event_name="view", value=value, minute=hours * HOUR),
            a_purchase(f"v{who}", event_name="spent", cents=cents, minute=hours * HOUR),
        )
    )
    store.write(project, *shown, *tracked)

    in_time = {name: pl.col("hours") <= 24 * days for name, days in windows.items()}
    of_visitors = log.group_by("who").agg(
        in_time["done"].any().cast(pl.Int64).alias("done"),
        pl.col("cents").filter(in_time["spent"]).sum().alias("spent") / 100,
        in_time["views"].sum().cast(pl.Int64).alias("views"),
        pl.col("value").filter(in_time["score"]).sum().alias("score"),
    )
    everyone = pl.DataFrame({"who": range(200)}).join(of_visitors, on="who", how="left").fill_null(0)
    frame = everyone.with_columns(
        variant=pl.when(pl.col("who") % 2 == 0).then(pl.lit("Control")).otherwise(pl.lit("Treatment"))
    )
    kinds = {"views": Count(), "score": Value(), "done": Converted(), "spent": Revenue()}
    wanted = analyze_frame(frame, control="Control", goals={name: kinds[name] for name in windows})
    # Every window is over.
    now = STARTED + timedelta(days=10)
    alike(store.results.report(experiment, project, now=now, is_finished=True), wanted)
    found = store.results.segments(experiment, project, now=now, dimension="country")
    assert len(found.goals) == len(spans)
    for ours, theirs in zip(found.goals, wanted.goals, strict=True):
        (german,) = ours.segments
        assert german.variants[0].improvement == pytest.approx(theirs.variants[1].improvement, rel=1e-9)


def test_a_snapshot_has_the_amounts_of_each_visitor(store: WorkingStore, readers: pl.DataFrame) -> None:
    project, experiment = served(store, readers, goals=goals(cap_percentile=95))
    report = store.results.report(experiment, project, now=NOW)
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    visitors = snapshot.visitors(experiment.id)
    assert snapshot.goal_columns(experiment.id) == KINDS
    assert visitors.select("views", "score").sum().collect().row(0) == pytest.approx(
        (readers["views"].sum(), readers["score"].sum())
    )
    alike(report, analyze_frame(visitors, **snapshot.analysis(experiment.id)))
    goals_of_sums = snapshot.aggregates(experiment.id).filter(pl.col("visitors") == 0).collect()["goal_id"]
    assert set(goals_of_sums) == {"goal_views", "goal_score"}


def test_a_conversion_has_its_money_as_a_value_and_a_refund_subtracts_it(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    store.write(
        project,
        an_exposure(experiment, 0),
        an_exposure(experiment, 1, "v2"),
        a_purchase(event_name="score", cents=1250, minute=1),
        a_purchase(event_name="score", cents=250, minute=2, is_refund=True),
        a_purchase(event_name="score", cents=999, minute=2, currency="EUR"),
        a_purchase(event_name="view", cents=100, minute=2),
        a_purchase(event_name="view", cents=100, minute=3, is_refund=True),
        # More than sums hold.
        an_event("custom_event", "v2", event_name="score", value=1e9, minute=3),
        a_purchase("v2", event_name="score", cents=10**11, minute=4),
    )
    evidence = store.observe(experiment, project)
    assert evidence.values is not None
    assert evidence.values.value.total.tolist() == [[1.0, 0.0], [10.0, 0.0]]
    assert evidence.revenue.total.tolist() == [[0.0, 0.0], [1000.0, 1e11]]


def test_a_finished_test_keeps_its_amounts(store: WorkingStore, readers: pl.DataFrame) -> None:
    project, experiment = served(store, readers)
    ended = store.change(experiment, status="completed", completed_at=NOW)
    store.rollup.refresh(project.id)
    before = store.results.report(ended, project, now=NOW + timedelta(hours=1))
    late = (an_event("custom_event", f"v{n}", event_name="view", minute=2 * DAY) for n in range(9))
    store.write(project, *late)
    assert store.rollup.rebuild(project.id).drifted == ()
    after = store.results.report(ended, project, now=NOW + timedelta(hours=1))
    assert after.goals == before.goals
