"""The committed sample is what its script makes, and holds what its README says."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

import truelift
from data.sample import generate
from pipeline.imports.event_import import import_events
from pipeline.imports.importer import import_visitors
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.sources.locations import find_tables
from tests.pipeline.working_store import a_working_store

ROOT = Path(__file__).parents[2]
VISITORS = generate.FOLDER / "visitors.csv"
EVENTS = generate.FOLDER / "events.csv"


def test_the_script_makes_the_committed_files_again(tmp_path: Path) -> None:
    generate.write(tmp_path)
    for committed in (VISITORS, EVENTS):
        assert (tmp_path / committed.name).read_text() == committed.read_text()


def test_the_files_are_small() -> None:
    assert sum(path.stat().st_size for path in generate.FOLDER.iterdir() if path.is_file()) < 800_000


def test_the_readme_describes_every_column_and_states_the_truth() -> None:
    readme = (generate.FOLDER / "README.md").read_text()
    for path in (VISITORS, EVENTS):
        for column in pl.read_csv(path).columns:
            assert f"| `{column}` |" in readme
    assert f"`SEED = {generate.SEED}`" in readme
    assert f"{generate.LIFT:+.0%}" in readme


def test_the_sample_has_a_winner_whose_interval_holds_the_true_lift() -> None:
    report = truelift.analyze(
        pl.read_csv(VISITORS, try_parse_dates=True),
        control="control",
        goals={"converted": "converted", "revenue": truelift.Revenue(covariates="revenue_before")},
        visitor="visitor_id",
        timestamp="first_seen",
    )
    assert report.primary is not None
    treatment = report.primary.variants[1]
    assert treatment.status == "winner"
    assert treatment.improvement_interval is not None
    assert treatment.improvement_interval.low is not None
    assert treatment.improvement_interval.high is not None
    assert treatment.improvement_interval.low < generate.LIFT < treatment.improvement_interval.high


def test_imported_events_take_the_refunds_off_the_visitors_revenue(tmp_path: Path) -> None:
    columns = VisitorColumns(
        variant="variant",
        goals={"converted": "custom_event", "revenue": "revenue"},
        visitor="visitor_id",
        timestamp="first_seen",
    )
    files = VisitorTables(
        tables=find_tables([str(VISITORS)]), columns=columns, name="Sample", control="control"
    )
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        imported = import_visitors(files, project, store=store)
        events = import_events(find_tables([str(EVENTS)]), project, store=store)
        assert imported.experiment is not None
        assert (imported.bad_rows, events.bad_rows) == ((), ())
        report = store.results.report(imported.experiment, project, now=datetime.now(UTC))
    refunds = pl.read_csv(EVENTS).filter(pl.col("kind") == "refund")["revenue_cents"].sum()
    paid = round(pl.read_csv(VISITORS)["revenue"].sum() * 100)
    revenue = next(goal for goal in report.goals if goal.goal.name == "revenue")
    assert refunds > 0
    assert sum(variant.revenue_cents or 0 for variant in revenue.variants) == paid - refunds
