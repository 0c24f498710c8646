from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from pipeline.assignment import first_assignments
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import EventRow
from tests.builders import STARTED, an_experiment

STARTED_US = int(STARTED.timestamp() * 1_000_000)
EXPERIMENT = an_experiment(status="running")


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    opened = Warehouse.open(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def ingest(warehouse: Warehouse, tmp_path: Path) -> Ingest:
    return Ingest(warehouse, Settings(data_dir=tmp_path))


@pytest.fixture
def known(warehouse: Warehouse, ingest: Ingest) -> FirstAssignments:
    return FirstAssignments(warehouse, ingest)


def a_row(
    visitor_key: int, variant_id: str | None = "var_0", event_type: str = "exposure", **columns: int
) -> EventRow:
    received_at = columns.get("received_at", STARTED_US)
    return EventRow(
        received_at,
        received_at,
        "e",
        1,
        event_type,
        "v",
        visitor_key,
        experiment_id=EXPERIMENT.id,
        variant_id=variant_id,
    )


def store(ingest: Ingest, *rows: EventRow) -> None:
    ingest.write_now("prj_1", events.to_batch(rows))


def variant_of(known: FirstAssignments, visitor_key: int) -> str | None:
    return known.of_visitor("prj_1", [EXPERIMENT], visitor_key).variant_ids.get(EXPERIMENT.id)


def test_nobody_is_known_in_an_empty_store(known: FirstAssignments) -> None:
    assert variant_of(known, 1) is None


@pytest.mark.parametrize("event_type", ["assignment", "exposure"])
def test_the_first_variant_wins(known: FirstAssignments, ingest: Ingest, event_type: str) -> None:
    store(ingest, a_row(1, "var_1", event_type), a_row(1, "var_0", event_type))
    assert variant_of(known, 1) == "var_1"
    store(ingest, a_row(1, "var_0", event_type), a_row(2, "var_0", event_type))
    assert (variant_of(known, 1), variant_of(known, 2)) == ("var_1", "var_0")


def test_what_was_acknowledged_before_the_question_is_seen(known: FirstAssignments, ingest: Ingest) -> None:
    for visitor_key in range(10):
        assert variant_of(known, visitor_key) is None
        store(ingest, a_row(visitor_key))
        assert variant_of(known, visitor_key) == "var_0"


def test_events_of_other_types_assign_nobody(known: FirstAssignments, ingest: Ingest) -> None:
    store(ingest, a_row(1, event_type="pageview"), a_row(2, variant_id=None))
    assert variant_of(known, 1) is None
    assert variant_of(known, 2) is None


def test_a_preview_before_the_start_assigned_nobody(known: FirstAssignments, ingest: Ingest) -> None:
    store(ingest, a_row(1, received_at=STARTED_US - 1), a_row(2, received_at=STARTED_US))
    assert (variant_of(known, 1), variant_of(known, 2)) == (None, "var_0")


def test_an_experiment_that_never_started_knows_nobody(known: FirstAssignments, ingest: Ingest) -> None:
    store(ingest, a_row(1))
    assert known.of_visitor("prj_1", [an_experiment(status="draft")], 1).variant_ids == {}


def test_experiments_are_kept_apart(known: FirstAssignments, ingest: Ingest) -> None:
    store(ingest, a_row(1, "var_1"))
    other = an_experiment(id="exp_2", status="running")
    assert known.of_visitor("prj_1", [EXPERIMENT, other], 1).variant_ids == {EXPERIMENT.id: "var_1"}


def test_a_restart_forgets_nobody(known: FirstAssignments, ingest: Ingest, warehouse: Warehouse) -> None:
    store(ingest, a_row(1, "var_1"))
    assert variant_of(FirstAssignments(warehouse, ingest), 1) == "var_1"


def test_any_number_of_visitors_in_any_order(
    known: FirstAssignments, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small enough that visitors are merged into the arrays many times over.
    monkeypatch.setattr(first_assignments, "MAX_RECENT", 16)
    generator = np.random.default_rng(7)
    first: dict[int, str] = {}
    for _ in range(30):
        keys = generator.integers(0, 2**64, 20, dtype=np.uint64) >> generator.integers(0, 64, dtype=np.uint64)
        rows = [a_row(int(key), f"var_{index % 2}") for index, key in enumerate(keys)]
        for row in rows:
            first.setdefault(row.visitor_key, row.variant_id or "")
        store(ingest, *rows)
        variant_of(known, 0)
    assert {key: variant_of(known, key) for key in first} == first
    assert variant_of(known, 2**64 - 1) is None


def test_a_variant_added_later_is_known(known: FirstAssignments, ingest: Ingest) -> None:
    store(ingest, a_row(1, "var_1"))
    assert variant_of(known, 1) == "var_1"
    store(ingest, a_row(2, "var_2"))
    wider = an_experiment(status="running", weights=(1, 1, 1), started_at=datetime(2026, 3, 1, 9, tzinfo=UTC))
    assert known.of_visitor("prj_1", [wider], 1).variant_ids == {EXPERIMENT.id: "var_1"}
    assert known.of_visitor("prj_1", [wider], 2).variant_ids == {EXPERIMENT.id: "var_2"}
