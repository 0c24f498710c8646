"""Nothing is decided by imported exposures whose events are not imported yet."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from engine.analysis.results.report import GoalReport
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.jobs.lifecycle import VISITOR_LIMIT, complete_at, complete_at_plan
from pipeline.jobs.look_recording import record_looks
from pipeline.sources.tables import UnreadableSourceError
from tests.pipeline.imports.described_sources import describe, import_described
from tests.pipeline.working_store import WorkingStore, a_working_store

VISITORS = 4_000
BEGUN = utc_now().replace(microsecond=0) - timedelta(days=20)
EXPOSURES = """
kind = "exposures"
location = "seen.parquet"
experiment = "Button"
[columns]
visitor = "who"
timestamp = "at"
variant = "arm"
[[experiments]]
name = "Button"
control = "old"
goals = [{ name = "Order", goal_type = "custom_event", config = { event_name = "order" } }]
statistics = { planned_sample = 4000, sequential = "group_sequential" }
stop_conditions = { visitor_limit = 4000 }
"""
ORDERS = """
kind = "events"
location = "orders.parquet"
event = "order"
[columns]
visitor = "who"
timestamp = "at"
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path / "store", clock=utc_now) as opened:
        yield opened


def write_tables(folder: Path, visitors: int) -> None:
    """Write the first visitors of eight days: 10% order with `old`, 15% with `new`."""
    rows = pl.DataFrame({"number": range(visitors)}).with_columns(
        pl.format("v{}", "number").alias("who"),
        (BEGUN + pl.duration(minutes=3 * pl.col("number"))).alias("at"),
        pl.when(pl.col("number") % 2 == 0).then(pl.lit("old")).otherwise(pl.lit("new")).alias("arm"),
        (pl.col("number") % 40 < pl.when(pl.col("number") % 2 == 0).then(4).otherwise(6)).alias("orders"),
    )
    rows.write_parquet(folder / "seen.parquet")
    rows.filter("orders").write_parquet(folder / "orders.parquet")


def described(folder: Path) -> tuple[Path, Path]:
    return describe(folder, "1-seen", EXPOSURES), describe(folder, "2-orders", ORDERS)


def run_jobs(store: WorkingStore) -> None:
    record_looks(store.catalog, store.due_looks, now=utc_now())
    complete_at(VISITOR_LIMIT, store.catalog, store.results, now=utc_now())
    complete_at_plan(store.catalog, store.results, now=utc_now())


def the_experiment(store: WorkingStore, project: Project) -> Experiment:
    (experiment,) = store.catalog.experiments.of_project(project.id)
    return experiment


def read(store: WorkingStore, project: Project) -> GoalReport:
    report = store.results.report(the_experiment(store, project), project, now=utc_now())
    assert report.primary is not None
    return report.primary


def looks_at_plan(store: WorkingStore, project: Project) -> list[str]:
    looks = store.catalog.recorded_looks.of(the_experiment(store, project).id)
    return [look.recommendation for look in looks if look.is_at_plan]


def test_jobs_and_reads_wait_for_the_events(tmp_path: Path, store: WorkingStore, project: Project) -> None:
    seen, orders = described(tmp_path)
    write_tables(tmp_path, VISITORS)
    import_described(store, project, seen)
    primary = read(store, project)
    run_jobs(store)
    assert primary.decision.recommendation == "fix_data"
    assert "newest events of 2-orders are not counted" in primary.decision.explanation
    assert primary.decision.next_step == "Import 2-orders: the verdict follows."
    assert (looks_at_plan(store, project), the_experiment(store, project).status) == ([], "running")

    version = store.results.version(the_experiment(store, project), project, now=utc_now())
    import_described(store, project, orders)
    assert version != store.results.version(the_experiment(store, project), project, now=utc_now())
    run_jobs(store)
    assert (looks_at_plan(store, project), the_experiment(store, project).status) == (["ship"], "completed")
    assert read(store, project).variants[1].conversions == VISITORS // 2 * 3 // 20


def test_a_night_of_broken_events_decides_nothing(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    seen, orders = described(tmp_path)
    write_tables(tmp_path, VISITORS // 2)
    import_described(store, project, seen, orders)
    run_jobs(store)
    assert read(store, project).decision.recommendation == "keep_running"

    write_tables(tmp_path, VISITORS)
    whole = pl.read_parquet(tmp_path / "orders.parquet")
    whole.drop("who").write_parquet(tmp_path / "orders.parquet")
    with pytest.raises(UnreadableSourceError, match="no column 'who'"):
        import_described(store, project, seen, orders)
    run_jobs(store)
    assert read(store, project).decision.recommendation == "fix_data"

    whole.write_parquet(tmp_path / "orders.parquet")
    import_described(store, project, seen, orders)
    run_jobs(store)
    assert looks_at_plan(store, project) == ["ship"]


def test_exposures_without_news_wait_for_nothing(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    seen, orders = described(tmp_path)
    write_tables(tmp_path, VISITORS // 2)
    import_described(store, project, seen, orders)
    import_described(store, project, seen)
    assert read(store, project).decision.recommendation == "keep_running"


def test_sources_of_other_projects_are_not_waited_for(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    other = store.add_project()
    seen, orders = described(tmp_path)
    write_tables(tmp_path, VISITORS // 2)
    import_described(store, other, orders)
    describe(tmp_path, "3-calls", f'project = "{other.id}"\n{ORDERS}')
    import_described(store, project, seen)
    assert read(store, project).decision.recommendation == "insufficient_data"
    # Known by its own import from now on.
    import_described(store, project, orders)
    write_tables(tmp_path, VISITORS)
    import_described(store, project, seen)
    assert read(store, project).decision.recommendation == "fix_data"
