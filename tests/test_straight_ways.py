"""A file analyzed in a notebook, and the same file imported and served: one engine, the same numbers."""

from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.results.report import DayResult, GoalReport, Report
from engine.analysis.results.segment_report import SegmentReport
from engine.analysis.results.variant_result import VariantResult
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.weight_epochs import WeightEpoch
from engine.display.plain_data import plain_data
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import GoalKind
from engine.frames.segments import analyze_frame_segments
from engine.vocabulary import AnalysisMethod
from pipeline.imports.importer import import_visitors
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.snapshots.reader import open_snapshot
from pipeline.sources.locations import find_tables
from tests.pipeline.working_store import WorkingStore, a_working_store

ZONE = "America/New_York"
GOALS: dict[str, GoalKind] = {"signed_up": "custom_event", "spent": "revenue"}
# Clocks in New York go forward on 8 March 2026, the second of the days.
FIRST = datetime(2026, 3, 7, tzinfo=UTC)
ROWS = 3000
METHODS: tuple[AnalysisMethod, ...] = ("frequentist", "bayesian")


def visits() -> pl.DataFrame:
    """Draw visits of people who come back, now and then in another variant, buy, and get money back."""
    rng = np.random.default_rng(41)
    visitor = rng.integers(0, 4000, ROWS)
    strays = rng.random(ROWS) < 0.02
    paid = np.where(rng.random(ROWS) < 0.15, rng.lognormal(3, 1, ROWS).round(2), 0.0)
    seconds = rng.integers(0, 10 * 86_400, ROWS).tolist()
    return pl.DataFrame(
        {
            "visitor": [f"v{number}" for number in visitor],
            "variant": np.where((visitor % 2 == 0) ^ strays, "old", "new"),
            "at": [(FIRST + timedelta(seconds=at)).strftime("%Y-%m-%d %H:%M:%S") for at in seconds],
            "signed_up": (rng.random(ROWS) < 0.1).astype(int),
            "spent": np.where(rng.random(ROWS) < 0.03, -paid, paid),
        }
    )


def brought_in(
    store: WorkingStore, frame: pl.DataFrame, folder: Path, **more: Any
) -> tuple[Project, Experiment]:
    """The frame's experiment, imported from a file into a project of its own."""
    frame.write_csv(folder / "visits.csv")
    columns = VisitorColumns(variant="variant", goals=GOALS, visitor="visitor", timestamp="at", **more)
    files = VisitorTables(
        tables=find_tables(["visits.csv"], base=folder), columns=columns, name="Visits", control="old"
    )
    project = store.add_project(reporting_timezone=ZONE)
    found = import_visitors(files, project, store=store)
    assert found.experiment is not None
    return project, found.experiment


def comparable(goal: GoalReport) -> tuple[list[VariantResult], dict[tuple[date, str], DayResult]]:
    """What must agree: everything but the ids, and days that nothing happened on."""
    variants = sorted((replace(v, variant_id="") for v in goal.variants), key=lambda v: v.variant_name)
    names = {variant.variant_id: variant.variant_name for variant in goal.variants}
    days = {(day, names[id_]): result for day, of_day in goal.days for id_, result in of_day.items()}
    return variants, {key: r for key, r in days.items() if r.visitors or r.conversions or r.revenue_cents}


def approximately(variant: VariantResult) -> dict[str, Any]:
    """Equal but for the last digits, which depend on the order of summing up."""
    return {
        name: pytest.approx(value, rel=1e-9) if isinstance(value, float | dict) else value
        for name, value in plain_data(variant).items()
    }


def test_the_service_and_a_data_frame_give_the_same_numbers(tmp_path: Path) -> None:
    frame = visits()
    with a_working_store(tmp_path / "store") as store:
        project, imported = brought_in(store, frame, tmp_path)
        # A frame is a finished test; the pause since the last visitor would leave this one short of its plan.
        served = [
            store.results.report(
                replace(imported, analysis_method=method, pauses=()), project, now=datetime.now(UTC)
            )
            for method in METHODS
        ]
    for report, method in zip(served, METHODS, strict=True):
        analysed = analyze_frame(
            frame,
            control="old",
            goals=GOALS,
            visitor="visitor",
            timestamp="at",
            timezone=ZONE,
            analysis_method=method,
        )
        assert len(analysed.goals) == len(GOALS)
        for ours, theirs in zip(report.goals, analysed.goals, strict=True):
            served_variants, served_days = comparable(ours)
            frame_variants, frame_days = comparable(theirs)
            assert served_days == frame_days
            for one, other in zip(served_variants, frame_variants, strict=True):
                assert plain_data(one) == approximately(other)


def visits_of_kinds() -> pl.DataFrame:
    """The same visits, of whom much is known, which may be another thing on the next one."""
    rng = np.random.default_rng(43)
    frame = visits()
    local = frame["at"].str.to_datetime(time_zone="UTC").dt.convert_time_zone(ZONE)
    return frame.with_columns(
        pl.Series("country", np.array(["US", "DE", None])[rng.choice(3, ROWS, p=[0.6, 0.3, 0.1])]),
        pl.Series("plan", np.array(["pro", "free", None])[rng.integers(0, 3, ROWS)]),
        # The service knows this one by itself.
        pl.when(local.dt.weekday() > 5)
        .then(pl.lit("weekend"))
        .otherwise(pl.lit("weekday"))
        .alias("day_of_week"),
    )


def told(report: SegmentReport) -> dict[tuple[str, str, str], Any]:
    """Everything about every segment and goal but the ids, by names that both know."""
    splits = {
        (one.dimension, one.value): {**asdict(one), "visitors": sorted(one.visitors.values())}
        for one in report.splits
    }
    found: dict[tuple[str, str, str], Any] = {}
    for goal in report.goals:
        for one in goal.segments:
            dimension = one.dimension.removeprefix("custom:")
            assert one.control is not None
            found[goal.goal.name, dimension, one.value] = [
                {**splits[one.dimension, one.value], "dimension": dimension},
                *({**asdict(arm), "variant_id": ""} for arm in (one.control, *one.variants)),
            ]
    return found


def nearly(value: Any) -> Any:
    """Equal but for the last digits."""
    if isinstance(value, dict):
        return {name: nearly(one) for name, one in value.items()}
    if isinstance(value, list):
        return [nearly(one) for one in value]
    return pytest.approx(value, rel=1e-7, abs=1e-9) if isinstance(value, float) else value


def test_the_service_and_a_data_frame_judge_segments_the_same(tmp_path: Path) -> None:
    frame = visits_of_kinds()
    with a_working_store(tmp_path / "store") as store:
        known = frame.drop("day_of_week")
        project, imported = brought_in(store, known, tmp_path, segments=("country", "plan"))
        served = store.results.segments(imported, project, now=datetime.now(UTC))
    analysed = analyze_frame_segments(
        frame,
        segments=["plan", "country", "day_of_week"],
        control="old",
        goals=GOALS,
        visitor="visitor",
        timestamp="at",
    )
    assert served.comparisons == analysed.comparisons > 0
    assert {goal.goal.name: goal.summary for goal in served.goals} == {
        goal.goal.name: goal.summary for goal in analysed.goals
    }
    assert len(told(served)) == 12
    assert told(served) == nearly(told(analysed))


# What one row a visitor can say: not which days they bought on, nor that a refund undid a conversion.
JUDGED = (
    *("variant_name", "is_control", "visitors", "status", "sample_ratio_expected", "improvement"),
    *("p_value", "log_p_value", "confidence", "score_value", "chance_to_beat", "expected_loss"),
    *("improvement_interval", "sequential_interval", "absolute_difference", "reason"),
)
COUNTED = {"custom_event": ("conversions", "conversion_rate"), "revenue": ("revenue_cents",)}


def test_the_service_and_its_snapshot_give_the_same_numbers(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with a_working_store(tmp_path / "store", clock=lambda: now) as store:
        project, imported = brought_in(store, visits(), tmp_path)
        for method in METHODS:
            experiment = store.change(imported, analysis_method=method, confidence_level=90)
            served = store.results.report(experiment, project, now=now)
            store.snapshots.write(project.id)
            snapshot = open_snapshot(store.snapshots.folder)
            assert snapshot.experiment("Visits").several_variants > 0
            assert_judged_the_same(
                served, analyze_frame(snapshot.visitors("Visits"), **snapshot.analysis("Visits"))
            )


def assert_judged_the_same(served: Report, analysed: Report) -> None:
    assert [(one.decision.recommendation, one.decision.reason) for one in served.goals] == [
        (one.decision.recommendation, one.decision.reason) for one in analysed.goals
    ]
    for ours, theirs in zip(served.goals, analysed.goals, strict=True):
        kind = GOALS[theirs.goal.name]
        variants = zip(
            sorted(ours.variants, key=lambda v: v.variant_name),
            sorted(theirs.variants, key=lambda v: v.variant_name),
            strict=True,
        )
        for one, other in variants:
            expected = approximately(other)
            for name in (*JUDGED, *COUNTED[kind]):
                assert plain_data(one)[name] == expected[name], name


def test_weights_that_moved_are_known_on_every_way(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with a_working_store(tmp_path / "store", clock=lambda: now) as store:
        project, imported = brought_in(store, visits(), tmp_path)
        old, new = (variant.id for variant in imported.variants)
        epochs = tuple(
            WeightEpoch(started_at=FIRST + timedelta(days=day), weights={old: 1.0, new: weight})
            for day, weight in ((0, 1.0), (3, 1.5), (3.5, 1.2), (20, 2.0))
        )
        for method in METHODS:
            experiment = store.change(
                imported, analysis_method=method, traffic_strategy="bandit", weight_epochs=epochs
            )
            served = store.results.report(experiment, project, now=now)
            store.snapshots.write(project.id)
            snapshot = open_snapshot(store.snapshots.folder)
            assert_epochs_are_the_same(
                served, analyze_frame(snapshot.visitors("Visits"), **snapshot.analysis("Visits"))
            )


def assert_epochs_are_the_same(served: Report, analysed: Report) -> None:
    assert served.estimand is not None
    assert analysed.estimand is not None
    assert served.estimand.compared_share == analysed.estimand.compared_share == 1.0
    assert [list(epoch.visitors.values()) for epoch in served.estimand.epochs] == [
        list(epoch.visitors.values()) for epoch in analysed.estimand.epochs
    ]
    split = ("sample_ratio", "unweighted_arms")
    assert [one.details.get("epochs") for one in served.health if one.check in split] == [
        one.details.get("epochs") for one in analysed.health if one.check in split
    ]
    for ours, theirs in zip(served.goals, analysed.goals, strict=True):
        for one, other in zip(comparable(ours)[0], comparable(theirs)[0], strict=True):
            expected = approximately(other)
            for name in (*JUDGED, *COUNTED[GOALS[theirs.goal.name]]):
                assert plain_data(one)[name] == expected[name], name
