"""Options of imports of the generated files, and the reports of what was imported."""

from datetime import UTC, datetime
from pathlib import Path

from api.cli.stores import opened_store
from engine.analysis.results.report import GoalReport, Report
from pipeline.results.filters import SegmentFilters
from pipeline.services import PipelineServices

SMALL = (
    "--variant",
    "arm",
    "--control",
    "A",
    "--goal",
    "bought",
    "--goal",
    "spend:revenue",
    "--visitor",
    "who",
)
CLEAR = ("--variant", "arm", "--control", "A", "--goal", "bought", "--visitor", "who")


def goal_named(report: Report, name: str) -> GoalReport:
    return next(goal for goal in report.goals if goal.goal.name == name)


def append_visitors(path: Path, name: str, *, buyers: tuple[int, int]) -> None:
    """Append 2,000 visitors a variant, of whom so many buy."""
    rows = [f"{name}{arm}-{i},{'AB'[arm]},{int(i < buyers[arm])}" for arm in (0, 1) for i in range(2_000)]
    path.write_text(path.read_text() + "\n".join(rows) + "\n")


def report_of(folder: Path, **filters: str) -> Report:
    with opened_store(folder) as store:
        return read(store, **filters)


def read(store: PipelineServices, **filters: str) -> Report:
    (project,) = store.catalog.projects.all()
    (experiment,) = store.catalog.experiments.of_project(project.id)
    given = SegmentFilters.from_query(filters)
    return store.results.report(experiment, project, given, now=datetime.now(UTC))


def counts(goal: GoalReport) -> dict[str, tuple[int, int]]:
    return {arm.variant_name: (arm.visitors, arm.conversions) for arm in goal.variants}
