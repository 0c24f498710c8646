"""Files of visitors written by hand, imported, and read back from the service."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from engine.analysis.results.report import Report
from engine.design.project import Project
from engine.frames.kinds import GoalKind
from pipeline.imports.import_result import Imported
from pipeline.imports.importer import import_visitors
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.sources.locations import find_tables
from tests.pipeline.working_store import WorkingStore

GOALS: dict[str, GoalKind] = {"bought": "custom_event", "spend": "revenue"}


class Row(NamedTuple):
    """A row of a file: the visitor, the variant, the day of November, a conversion and dollars."""

    who: str
    arm: str
    day: int
    bought: int
    spend: float


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    """Write the rows to a CSV file."""
    lines = [f"{row.who},{row.arm},2026-10-{row.day:02d} 10:00:00,{row.bought},{row.spend}" for row in rows]
    path.write_text("\n".join(["who,arm,at,bought,spend", *lines]) + "\n")
    return path


def import_files(
    store: WorkingStore,
    project: Project,
    *paths: Path,
    control: str = "A",
    name: str = "Test",
    **columns: Any,
) -> Imported:
    """Import files into the experiment of a name; by default their rows have visitors and times."""
    given = {"visitor": "who", "timestamp": "at", "goals": GOALS, **columns}
    files = VisitorTables(
        tables=find_tables([str(path) for path in paths]),
        columns=VisitorColumns(variant="arm", **given),
        name=name,
        control=control,
    )
    return import_visitors(files, project, store=store)


def report_of(store: WorkingStore, project: Project) -> Report:
    """Read the report of the only experiment, of all events stored by now."""
    (experiment,) = store.catalog.experiments.of_project(project.id)
    store.rollup.refresh(project.id)
    return store.results.report(experiment, project, now=datetime.now(UTC))


def totals_of(report: Report) -> dict[str, dict[str, tuple[int, int, int | None]]]:
    """Visitors, conversions and cents by goal and variant."""
    return {
        goal.goal.name: {
            arm.variant_name: (arm.visitors, arm.conversions, arm.revenue_cents) for arm in goal.variants
        }
        for goal in report.goals
    }


def totals(store: WorkingStore, project: Project) -> dict[str, dict[str, tuple[int, int, int | None]]]:
    """Visitors, conversions and cents of the service, by goal and variant."""
    return totals_of(report_of(store, project))
