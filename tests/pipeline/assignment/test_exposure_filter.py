from collections.abc import Iterator
from dataclasses import replace

import pytest

from pipeline.assignment.exposure_filter import ExposureFilter, find_excluded
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.project_cache import ProjectCache
from pipeline.events.decode import DecodedEvents
from pipeline.events.rejections import EventResult
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.events import table_name
from tests.pipeline.working_store import WorkingStore, an_exposure


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def kept(store: WorkingStore) -> Iterator[ExposureFilter]:
    known = FirstAssignments(store.warehouse, store.ingest, store.settings)
    yield ExposureFilter(store.catalog, known)
    known.close()


def marks(store: WorkingStore, kept: ExposureFilter, project_id: str, *rows: EventRow) -> list[str | None]:
    events = DecodedEvents(list(rows), [EventResult(row.event_id, "ok") for row in rows])
    cached = ProjectCache(store.catalog).with_id(project_id)
    marked = kept.mark_not_counted(events, find_excluded(events, cached), cached)
    assert [row.not_counted is not None for row in marked.rows] == [
        result.code == "not_counted" for result in marked.results
    ]
    return [row.not_counted for row in marked.rows]


def test_the_events_of_a_paused_experiment_are_read_once(store: WorkingStore, kept: ExposureFilter) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, *(an_exposure(experiment, 0, f"v{number}") for number in range(50)))
    store.change(experiment, status="paused")
    rows = [an_exposure(experiment, 0, visitor) for visitor in ("v7", "unknown")]
    assert marks(store, kept, project.id, *rows) == [None, "experiment_paused"]
    # Events that are gone from the store cannot be read again.
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'DELETE FROM "{table_name(project.id)}"')  # noqa: S608 (named here)
    store.write(project, an_exposure(experiment, 0, "late"))
    rows.append(an_exposure(experiment, 0, "late"))
    assert marks(store, kept, project.id, *rows) == [None, "experiment_paused", None]


def test_a_visitor_whose_exposure_was_stored_a_moment_ago_is_known(
    store: WorkingStore, kept: ExposureFilter
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.change(experiment, status="paused")
    assert marks(store, kept, project.id, an_exposure(experiment, 0, "v1")) == ["experiment_paused"]
    store.write(project, an_exposure(experiment, 0, "v1"))
    assert marks(store, kept, project.id, an_exposure(experiment, 0, "v1")) == [None]


def test_stored_exposures_that_do_not_count_make_nobody_known(
    store: WorkingStore, kept: ExposureFilter
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, traffic_allocation=0)
    ignored = an_exposure(experiment, 0, "v1", not_counted="outside_traffic_allocation")
    store.write(project, ignored)
    row = an_exposure(experiment, 0, "v1")
    assert marks(store, kept, project.id, row) == ["outside_traffic_allocation"]
    store.change(experiment, status="paused")
    assert marks(store, kept, project.id, row) == ["experiment_paused"]


def test_a_running_experiment_with_all_traffic_is_never_looked_up(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    cached = ProjectCache(store.catalog).with_id(project.id)
    events = DecodedEvents([an_exposure(experiment)], [EventResult("e", "ok")])
    assert find_excluded(events, cached) == {}
    assert find_excluded(events, replace(cached, limited_experiments={})) == {}
