"""Projects in answers."""

from api.schemas.projects import NewProject, Project, ProjectStats
from engine.design.project import ASSIGNED_FIELDS, WRITABLE_FIELDS
from pipeline.store.catalog.experiment_changes import ExperimentNumbers
from pipeline.store.warehouse.visitor_totals import Totals
from tests.builders import a_project


def test_an_answer_has_what_callers_write_and_what_the_service_assigns() -> None:
    assert set(NewProject.model_fields) == {*WRITABLE_FIELDS, *ASSIGNED_FIELDS} - {"account_id"}


def test_only_the_answer_of_creation_has_the_sdk_key() -> None:
    project = a_project()
    assert NewProject.of_new(project).api_key == project.sdk_key
    assert "api_key" not in Project.of(project, 2).model_dump()
    assert Project.of(project, 2).running_experiments_count == 2


def test_stats_count_running_experiments_apart() -> None:
    experiments = ExperimentNumbers(version=7, total=2, running=1)
    totals = Totals(visitors=9, converted=4, recent_visitors=3, recently_converted=1)
    stats = ProjectStats.of(experiments, totals, 1)
    assert (stats.total_experiments, stats.running_experiments) == (2, 1)
    assert (stats.total_visitors, stats.conversions_30d, stats.experiments_counted_outside) == (9, 1, 1)
