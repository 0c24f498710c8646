from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.assignment.project_cache import rule_of
from pipeline.events.hashing import hash64
from pipeline.store.warehouse.visitor_history import (
    EXPOSED,
    PLACE_SHIFT,
    AssignmentQuery,
    EventMark,
    count_events,
    first_places,
    newest_event,
)
from tests.builders import an_experiment
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_the_first_variant_in_order_of_commits_stays(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(
        project,
        an_exposure(experiment, 1, "a", minute=9),
        an_exposure(experiment, 0, "a", minute=1),
        an_exposure(experiment, 0, "b", minute=-1),
        an_event("assignment", "c", experiment_id=experiment.id, variant_id=experiment.variants[0].id),
    )
    rule = rule_of(experiment)
    assert rule is not None
    found = first_places(store.warehouse, AssignmentQuery(project_id=project.id, rules={5: rule}))
    assert dict(zip(found.visitor_keys.tolist(), found.places.tolist(), strict=True)) == {
        hash64("a"): (1 << PLACE_SHIFT) + EXPOSED + 1,
        hash64("c"): 4 << PLACE_SHIFT,
    }
    assert found.visitor_keys.tolist() == sorted(found.visitor_keys.tolist())
    assert set(found.numbers.tolist()) == {5}


def test_visitors_are_read_by_ranges_of_keys(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, *(an_exposure(experiment, 0, f"v{number}") for number in range(40)))
    rule, middle = rule_of(experiment), 2**63
    assert rule is not None
    low, high = (
        first_places(store.warehouse, query).visitor_keys.tolist()
        for query in (
            AssignmentQuery(project_id=project.id, rules={0: rule}, last_key=middle - 1),
            AssignmentQuery(project_id=project.id, rules={0: rule}, first_key=middle),
        )
    )
    assert low
    assert high
    assert low + high == sorted(hash64(f"v{number}") for number in range(40))


def test_the_newest_event_and_the_number_of_events(store: WorkingStore) -> None:
    project = store.add_project()
    assert newest_event(store.warehouse, project.id) is None
    assert count_events(store.warehouse, project.id) == 0
    rows = [an_exposure(an_experiment(), 0, "a"), an_exposure(an_experiment(), 0, "b")]
    store.write(project, *rows)
    marks = [EventMark(seq, row.event_key, row.received_at) for seq, row in enumerate(rows, 1)]
    assert newest_event(store.warehouse, project.id) == marks[1]
    assert newest_event(store.warehouse, project.id, up_to_seq=1) == marks[0]
    assert count_events(store.warehouse, project.id) == 2
