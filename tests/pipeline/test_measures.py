"""Every measure through every door: the service, its snapshot, rows, a lazy table, sums and a file."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from api.cli.app import app
from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.design.experiment import Experiment, Goal
from engine.display.report_document import document_of_report
from engine.frames.analyze import analyze_frame
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Count, Funnel, Ratio, Retained, Revenue, Value
from engine.measures.measure_table import MEASURES
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from tests.builders import STARTED
from tests.pipeline.working_store import a_purchase, a_working_store, an_event, an_exposure

NOW = STARTED + timedelta(days=20)
DAY = 24 * 60
VISITORS = 500
# The views of a visitor are of so many products in turn.
SKUS = 2
# Those who came so late that nobody knows yet whether they stay.
LATE = 40
COMPARED = (
    *("visitors", "mean", "improvement", "log_p_value", "score_value", "absolute_difference"),
    *("revenue_cents", "revenue_per_order_cents", "status"),
)


class Made(NamedTuple):
    """A measure as a goal of the service, of rows and of the command."""

    goal_type: str
    config: dict[str, Any]
    frame: FrameGoal
    command: tuple[str, ...]
    takes_sums: bool = True


OF_EVENTS = [name for name, measure in MEASURES.items() if measure.is_of_events]
VIEW, VISIT = {"event_name": "view"}, {"event_name": "visit"}
MADE = {
    "converted": Made("custom_event", VIEW, Converted(), ("converted",)),
    "revenue": Made("revenue", {}, Revenue(), ("revenue:revenue",)),
    "revenue_per_order": Made(
        "revenue",
        {"per": "order"},
        Revenue(orders="orders"),
        ("revenue_per_order:revenue", "--orders", "revenue_per_order=orders"),
        takes_sums=False,
    ),
    "count": Made("custom_event", {**VIEW, "measure": "count"}, Count(), ("count:count",)),
    "distinct": Made(
        "custom_event",
        {**VIEW, "measure": "distinct", "field": "custom:sku"},
        Count(),
        ("distinct:count",),
    ),
    "value": Made("custom_event", {"event_name": "score", "measure": "value"}, Value(), ("value:value",)),
    "ratio": Made(
        "custom_event",
        {**VIEW, "measure": "ratio", "denominator": VISIT},
        Ratio("count", "visits"),
        ("ratio:ratio=count/visits",),
    ),
    "retained": Made(
        "custom_event",
        {"event_name": "return", "measure": "retained", "from_day": 2, "to_day": 3},
        Retained(),
        ("retained:retained",),
    ),
    "funnel": Made(
        "custom_event",
        {**VIEW, "measure": "funnel", "steps": [VISIT]},
        Funnel("visited", "viewed"),
        ("funnel:funnel=visited,viewed",),
        takes_sums=False,
    ),
}


def drawn_visitors() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    # A third of the visitors, so that the skewness of means matters.
    arm, late = (np.arange(VISITORS) % 3 == 0).astype(int), np.arange(VISITORS) >= VISITORS - LATE
    count = rng.poisson(1.5 + 0.5 * arm)
    visits = rng.poisson(1.2, VISITORS)
    orders = rng.poisson(0.4 + 0.1 * arm)
    retained = pl.Series(rng.random(VISITORS) < 0.3 + 0.1 * arm).cast(pl.Int64)
    return pl.DataFrame(
        {
            "variant": np.where(arm == 0, "Control", "Treatment"),
            "is_late": late,
            "converted": (count > 0).astype(int),
            "count": count,
            "distinct": np.minimum(count, SKUS),
            "visits": visits,
            "visited": (visits > 0).astype(int),
            "viewed": ((visits > 0) & (count > 0)).astype(int),
            "orders": orders,
            "revenue": orders * rng.integers(500, 9_000, VISITORS) / 100,
            "value": rng.normal(3, 5, VISITORS).round(4),
            "retained": retained.set(pl.Series(late), None),
        }
    ).with_columns(revenue_per_order="revenue")


def events(visitors: pl.DataFrame, experiment: Experiment) -> Iterator[EventRow]:
    """Visits come before views, so that every funnel is in order."""
    for place, row in enumerate(visitors.iter_rows(named=True)):
        who, at = f"v{place}", 18 * DAY if row["is_late"] else 60
        yield an_exposure(experiment, int(place % 3 == 0), who, minute=at)
        for name, times, minute in (("visit", row["visits"], 1), ("view", row["count"], 100)):
            for number in range(times):
                sku = f'{{"sku":"{number % SKUS}"}}'
                yield an_event("custom_event", who, event_name=name, custom=sku, minute=at + minute + number)
        yield an_event("custom_event", who, event_name="score", value=row["value"], minute=at + 5)
        for number in range(row["orders"]):
            # Whole cents of the first order, nothing of the others.
            cents = round(row["revenue"] * 100) if number == 0 else 0
            yield a_purchase(who, cents=cents, minute=at + 10 + number)
        if row["retained"]:
            yield an_event("custom_event", who, event_name="return", minute=at + int(2.5 * DAY))


@pytest.fixture(scope="module")
def visitors() -> pl.DataFrame:
    return drawn_visitors()


@pytest.fixture(scope="module")
def reports(visitors: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """The report of the service, and that of its snapshot."""
    goals = tuple(
        Goal(
            id=f"goal_{name}",
            name=name,
            goal_type=made.goal_type,  # type: ignore[arg-type]  # one of its words
            is_primary=place == 0,
            config=made.config,
        )
        for place, (name, made) in enumerate(MADE.items())
    )
    with a_working_store(tmp_path_factory.mktemp("store"), clock=lambda: NOW) as store:
        project = store.add_project()
        experiment = store.add_experiment(project, goals=goals, weights=(2, 1))
        store.write(project, *events(visitors, experiment))
        store.rollup.refresh(project.id)
        served = store.results.report(experiment, project, now=NOW)
        store.snapshots.write(project.id)
        snapshot = open_snapshot(store.snapshots.folder / project.id)
        kept = analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))
    return {"service": served, "snapshot": kept}


def sums_of(visitors: pl.DataFrame) -> pl.DataFrame:
    of_values = [
        column
        for name in ("count", "distinct", "visits", "value", "revenue")
        for column in (
            pl.col(name).sum().alias(f"{name}_sum"),
            (pl.col(name) ** 2).sum().alias(f"{name}_squares"),
            (pl.col(name) ** 3).sum().alias(f"{name}_cubes"),
        )
    ]
    clicks, visits = pl.col("count"), pl.col("visits")
    paid = (pl.col("revenue") > 0).sum().alias("revenue")
    return visitors.group_by("variant").agg(
        pl.len().alias("visitors"),
        pl.col("converted", "retained").sum(),
        pl.col("retained").count().alias("retained_visitors"),
        (clicks * visits).sum().alias("count_visits_products"),
        (clicks**2 * visits).sum().alias("count_count_visits_products"),
        (clicks * visits**2).sum().alias("count_visits_visits_products"),
        paid,
        *of_values,
    )


def of_command(visitors: pl.DataFrame, goal: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """Analyze a file with the command; the numbers of the treatment."""
    path = folder / "visitors.csv"
    visitors.write_csv(path)
    options = ("--variant", "variant", "--control", "Control", "--json", "--goal", *goal)
    answered = CliRunner().invoke(app, ["analyze", str(path), *options])
    assert answered.exit_code == 0, answered.output
    found: dict[str, Any] = json.loads(answered.stdout)["goals"][0]["variants"][1]
    return found


def treatment(report: Report, name: str) -> VariantResult:
    goal = next(goal for goal in report.goals if goal.goal.name == name)
    return next(variant for variant in goal.variants if not variant.is_control)


def assert_same(found: VariantResult, wanted: VariantResult) -> None:
    for field in COMPARED:
        ours, theirs = flatten(found)[field], flatten(wanted)[field]
        if isinstance(theirs, float):
            assert ours == pytest.approx(theirs, rel=1e-9), field
        else:
            assert ours == theirs, field


def test_every_measure_is_made_here() -> None:
    assert set(MADE) == set(OF_EVENTS)


@pytest.mark.parametrize("name", OF_EVENTS)
def test_a_measure_has_the_same_numbers_through_every_door(
    name: str, reports: dict[str, Report], visitors: pl.DataFrame, tmp_path: Path
) -> None:
    made, wanted = MADE[name], treatment(reports["service"], name)
    # A test of one goal has the p value that it has among several: each is compared with the control.
    goals = {name: made.frame}
    lazy = duckdb.from_arrow(visitors.to_arrow())
    doors = {
        "snapshot": reports["snapshot"],
        "rows": analyze_frame(visitors, control="Control", goals=goals),
        "lazy table": analyze_frame(lazy, control="Control", goals=goals),
    }
    if made.takes_sums:
        doors["sums"] = analyze_frame(sums=sums_of(visitors), control="Control", goals=goals)
    for report in doors.values():
        assert_same(treatment(report, name), wanted)
    found = of_command(visitors, made.command, tmp_path)
    assert found["improvement"] == pytest.approx(wanted.improvement, rel=1e-9)
    assert found["mean"] == (None if wanted.mean is None else pytest.approx(wanted.mean, rel=1e-9))


@pytest.mark.parametrize("name", OF_EVENTS)
def test_a_report_has_the_words_of_a_measure(name: str, reports: dict[str, Report]) -> None:
    measure, report = MEASURES[name], reports["service"]
    goal = next(goal for goal in report.goals if goal.goal.name == name)
    assert measure.label in str(document_of_report(report))
    words = goal.decision.explanation
    assert (measure.predicate or "brought") in words
    assert goal.goal.unit == measure.unit
