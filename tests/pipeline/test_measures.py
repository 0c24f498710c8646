"""Every measure through every door: the service, its snapshot, rows, lazy tables, sums and a file."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import ibis
import polars as pl
import pytest
from typer.testing import CliRunner

from api.cli.app import app
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.display.report_document import document_of_report
from engine.frames.analyze import analyze_frame
from engine.measures.measure_table import MEASURES
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from tests.builders import STARTED
from tests.pipeline.measured_visitors import (
    MADE,
    SKUS,
    assert_same,
    drawn_visitors,
    same,
    treatment,
)
from tests.pipeline.working_store import a_purchase, a_working_store, an_event, an_exposure

# Ibis 12 calls DuckDB 2 by an older name.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
NOW = STARTED + timedelta(days=20)
DAY = 24 * 60


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
        # Some have an event without a value, which says nothing.
        time = None if place % 11 == 0 else row["value"]
        yield an_event("custom_event", who, event_name="time", value=time, minute=at + 6)
        for load in row["loads"]:
            yield an_event("custom_event", who, event_name="load", value=load, minute=at + 7)
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
def ibis_table(visitors: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("ibis") / "visitors.duckdb"
    with duckdb.connect(str(path)) as written:
        rows = visitors.to_arrow()  # noqa: F841  # DuckDB finds it by its name
        written.execute("CREATE TABLE visitors AS SELECT * FROM rows")
    connection = ibis.duckdb.connect(path, read_only=True)
    yield connection.table("visitors")
    connection.disconnect()


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
    visitors.drop("loads").write_csv(path)
    options = ("--variant", "variant", "--control", "Control", "--json", "--goal", *goal)
    answered = CliRunner().invoke(app, ["analyze", str(path), *options])
    assert answered.exit_code == 0, answered.output
    found: dict[str, Any] = json.loads(answered.stdout)["goals"][0]["variants"][1]
    return found


def test_every_measure_is_made_here() -> None:
    assert {name.partition(" ")[0] for name in MADE} == set(MEASURES)


@pytest.mark.parametrize("name", MADE)
def test_a_measure_has_the_same_numbers_through_every_door(
    name: str, reports: dict[str, Report], visitors: pl.DataFrame, ibis_table: Any, tmp_path: Path
) -> None:
    made, wanted = MADE[name], treatment(reports["service"], name)
    # A test of one goal has the p value that it has among several: each is compared with the control.
    goals = {name: made.frame}
    tables = {"rows": visitors, "DuckDB": duckdb.from_arrow(visitors.to_arrow()), "Ibis": ibis_table}
    doors = {door: analyze_frame(table, control="Control", goals=goals) for door, table in tables.items()}
    doors["snapshot"] = reports["snapshot"]
    if made.takes_sums:
        doors["sums"] = analyze_frame(sums=sums_of(visitors), control="Control", goals=goals)
    for door, report in doors.items():
        assert_same(treatment(report, name), wanted, door)
    if not made.command:
        return
    found = of_command(visitors, made.command, tmp_path)
    assert found["improvement"] == same(wanted.improvement)
    assert found["mean"] == same(wanted.mean)


@pytest.mark.parametrize("name", MADE)
def test_a_report_has_the_words_of_a_measure(name: str, reports: dict[str, Report]) -> None:
    report = reports["service"]
    goal = next(goal for goal in report.goals if goal.goal.name == name)
    measure = goal.goal.measure
    assert measure.label in str(document_of_report(report))
    words = goal.decision.explanation
    assert (measure.predicate.format(**goal.goal.tracking) or "brought") in words
    assert goal.goal.unit == measure.unit
