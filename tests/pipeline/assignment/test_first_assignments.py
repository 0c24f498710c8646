import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.design.holdout import SEEN_BEFORE
from engine.design.project import Project
from pipeline.assignment import pair_table
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.project_cache import rule_of
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.events import table_name
from pipeline.store.warehouse.visitor_history import AssignmentRule
from tests.builders import STARTED, an_experiment
from tests.pipeline.working_store import WorkingStore, a_working_store

STARTED_US = int(STARTED.timestamp() * 1_000_000)
RULE = AssignmentRule("exp_1", STARTED_US, ("var_0", "var_1"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


@pytest.fixture
def known(store: WorkingStore) -> Iterator[FirstAssignments]:
    opened = FirstAssignments(store.warehouse, store.ingest, store.settings)
    yield opened
    opened.close()


def a_row(
    visitor_key: int,
    variant_id: str | None = "var_0",
    event_type: str = "exposure",
    received_at: int = STARTED_US,
    experiment_id: str = RULE.experiment_id,
) -> EventRow:
    return EventRow(
        received_at,
        received_at,
        f"e{visitor_key}",
        visitor_key,
        event_type,
        "v",
        visitor_key,
        experiment_id=experiment_id,
        variant_id=variant_id,
    )


def send(store: WorkingStore, project: Project, *rows: EventRow) -> None:
    asyncio.run(store.ingest.submit(project.id, rows))


def variant_of(
    known: FirstAssignments, project: Project, visitor_key: int, rule: AssignmentRule = RULE
) -> str | None:
    return known.of_visitor(project.id, (rule,), visitor_key).variant_ids.get(rule.experiment_id)


def test_nobody_is_known_in_an_empty_store(known: FirstAssignments, project: Project) -> None:
    assert variant_of(known, project, 1) is None


@pytest.mark.parametrize("event_type", ["assignment", "exposure"])
def test_the_first_variant_wins(
    known: FirstAssignments, store: WorkingStore, project: Project, event_type: str
) -> None:
    send(store, project, a_row(1, "var_1", event_type), a_row(1, "var_0", event_type))
    assert variant_of(known, project, 1) == "var_1"
    send(store, project, a_row(1, "var_0", event_type), a_row(2, "var_0", event_type))
    assert (variant_of(known, project, 1), variant_of(known, project, 2)) == ("var_1", "var_0")


def test_what_was_acknowledged_before_the_question_is_seen(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    for visitor_key in range(10):
        assert variant_of(known, project, visitor_key) is None
        write = send if visitor_key % 2 else WorkingStore.write
        write(store, project, a_row(visitor_key))
        assert variant_of(known, project, visitor_key) == "var_0"


def test_no_query_is_made_while_events_come_in(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    rules = tuple(replace(RULE, experiment_id=f"exp_{number}") for number in range(50))
    assert known.of_visitor(project.id, rules, 1).variant_ids == {}
    send(store, project, *(a_row(2, experiment_id=rule.experiment_id) for rule in rules))
    assert store.ingest.load()
    # What is not in the store any more cannot be read from there.
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'DELETE FROM "{table_name(project.id)}"')  # noqa: S608 (named here)
    assert known.is_ready(project.id, rules)
    assert len(known.of_visitor(project.id, rules, 2).variant_ids) == 50


def test_events_of_other_types_assign_nobody(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    variant_of(known, project, 1)
    send(store, project, a_row(1, event_type="pageview"), a_row(2, variant_id=None), a_row(3, "var_9"))
    assert [variant_of(known, project, visitor_key) for visitor_key in (1, 2, 3)] == [None] * 3


def test_a_preview_before_the_start_assigned_nobody(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    variant_of(known, project, 1)
    send(store, project, a_row(1, received_at=STARTED_US - 1), a_row(2, received_at=STARTED_US))
    assert (variant_of(known, project, 1), variant_of(known, project, 2)) == (None, "var_0")


def test_experiments_are_kept_apart(known: FirstAssignments, store: WorkingStore, project: Project) -> None:
    other = replace(RULE, experiment_id="exp_2")
    variant_of(known, project, 1)
    send(store, project, a_row(1, "var_1"))
    assert known.of_visitor(project.id, (RULE, other), 1).variant_ids == {RULE.experiment_id: "var_1"}


def test_any_number_of_visitors_in_any_order(
    known: FirstAssignments, store: WorkingStore, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small enough that visitors are sorted into arrays many times over.
    monkeypatch.setattr(pair_table, "MAX_RECENT", 16)
    generator = np.random.default_rng(7)
    first: dict[int, str] = {}
    for _ in range(30):
        keys = generator.integers(0, 2**64, 20, dtype=np.uint64) >> generator.integers(0, 64, dtype=np.uint64)
        rows = [a_row(int(key), f"var_{index % 2}") for index, key in enumerate(keys)]
        for row in rows:
            first.setdefault(row.visitor_key, row.variant_id or "")
        send(store, project, *rows)
        variant_of(known, project, 0)
    assert {key: variant_of(known, project, key) for key in first} == first
    assert variant_of(known, project, 2**64 - 1) is None


def test_a_variant_added_later_is_known(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    assert variant_of(known, project, 1) is None
    send(store, project, a_row(1, "var_1"), a_row(2, "var_2"))
    assert (variant_of(known, project, 1), variant_of(known, project, 2)) == ("var_1", None)
    wider = replace(RULE, variant_ids=("var_0", "var_1", "var_2"))
    assert variant_of(known, project, 1, wider) == "var_1"
    assert variant_of(known, project, 2, wider) == "var_2"


def test_an_experiment_that_started_later_is_read_from_the_store(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    later = replace(RULE, experiment_id="exp_2")
    assert variant_of(known, project, 1) is None
    send(store, project, a_row(1, "var_1", experiment_id="exp_2"))
    assert not known.is_ready(project.id, (RULE, later))
    assert variant_of(known, project, 1, later) == "var_1"
    send(store, project, a_row(2, "var_1", experiment_id="exp_2"))
    assert variant_of(known, project, 2, later) == "var_1"


def test_only_running_and_paused_experiments_have_a_rule() -> None:
    assert rule_of(an_experiment(status="running")) is not None
    assert rule_of(an_experiment(status="paused")) is not None
    for status in ("draft", "scheduled", "completed", "archived"):
        assert rule_of(an_experiment(status=status)) is None


def test_a_deleted_project_is_forgotten_with_its_files(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    send(store, project, a_row(1))
    assert variant_of(known, project, 1) == "var_0"
    known.write()
    assert list(store.settings.assignments_path.iterdir())
    store.ingest.forget(project.id)
    assert list(store.settings.assignments_path.iterdir()) == []
    assert variant_of(known, project, 1) is None
    known.write()
    assert list(store.settings.assignments_path.iterdir()) == []


def test_readers_in_threads_get_the_same_answer_while_the_store_is_read(
    known: FirstAssignments, store: WorkingStore, project: Project
) -> None:
    store.write(project, *(a_row(key, f"var_{key % 2}") for key in range(2_000)))

    async def ask_at_once() -> list[str | None]:
        questions = (asyncio.to_thread(variant_of, known, project, key) for key in range(20))
        return list(await asyncio.gather(*questions))

    assert asyncio.run(ask_at_once()) == [f"var_{key % 2}" for key in range(20)]


def test_an_event_from_before_a_holdout_goes_before_all_places_in_it(
    store: WorkingStore, project: Project, known: FirstAssignments
) -> None:
    holdout = AssignmentRule("hld_1", STARTED_US, ("held", "others", SEEN_BEFORE), is_holdout=True)

    def a_view(visitor_key: int, occurred_at: int, received_at: int = STARTED_US + 9) -> EventRow:
        row = a_row(visitor_key, None, "pageview", received_at)
        return row._replace(experiment_id=None, occurred_at=occurred_at, event_id=f"v{visitor_key}")

    def places(index: FirstAssignments) -> dict[int, str | None]:
        found = (index.of_visitor(project.id, [holdout], key).variant_ids for key in range(1, 6))
        return {key: one.get("hld_1") for key, one in enumerate(found, 1)}

    exposures = (a_row(key, "held", received_at=STARTED_US + 5, experiment_id="hld_1") for key in (2, 3))
    store.write(project, a_view(1, STARTED_US - 1), *exposures, a_view(4, STARTED_US))
    assert places(known) == {1: SEEN_BEFORE, 2: "held", 3: "held", 4: None, 5: None}
    # One that has waited in a browser since before.
    asyncio.run(store.ingest.submit(project.id, [a_view(2, STARTED_US - 1), a_view(5, STARTED_US + 1)]))
    assert places(known) == {1: SEEN_BEFORE, 2: SEEN_BEFORE, 3: "held", 4: None, 5: None}
    known.write()
    again = FirstAssignments(store.warehouse, store.ingest, store.settings)
    assert places(again) == places(known)
    again.close()
