"""Answers over a store that version 0.1 wrote: the same in this version.

`tests/data/README.md` describes the store.
"""

from copy import deepcopy
from pathlib import Path

import duckdb
import pytest
from fastapi.testclient import TestClient

from pipeline.store.event_columns import ADDED_COLUMNS
from pipeline.store.warehouse.events import EVENT_SCHEMA
from tests import old_store, old_store_answers, stored_answers
from tests.stored_answers import Answers

# The test starts the command line on a folder, whose catalog is the SQLite file in it.
pytestmark = pytest.mark.only_on("sqlite")


# The number of answers in each file; the last two experiments have no visitors.
COUNTS = {
    "checkout": 17,
    "banner": 7,
    "recommendations": 7,
    "shipping": 7,
    "search": 7,
    "footer": 7,
    "reviews": 7,
    "gallery": 7,
    "newsletter": 7,
    "holidays": 7,
    "service": 24,
    "assignments": 21,
    "repeated_request": 3,
    "snapshot": 11,
    "command_line": 4,
}
EXPERIMENTS = tuple(COUNTS)[:10]
COUNTED = tuple(COUNTS)[:8]
OVER = ("banner", "gallery")
# Not applicable to results that version 0.1 counted, as it did not know the senders.
SENDER_CHECKS = {
    "bursts",
    "visitors_by_address",
    "refunds_above_orders",
    "revenue_concentration",
    "custom_dimension_keys",
    "late_visits",
}


def assert_same(name: str, now: Answers) -> None:
    """Compare all answers of one file: first everything but the sentences, then these."""
    stored = stored_answers.stored_answers(name)
    assert len(stored) == COUNTS[name]
    assert_equal(stored, stored_answers.without_sentences(now))
    assert_equal(stored_answers.stored_sentences(name), stored_answers.sentences(now))


def assert_same_after_recount(client: TestClient, *keys: str) -> None:
    """Compare results, segments and the export, without sentences."""
    for key in keys:
        now = old_store_answers.recounted_answers(client, key)
        assert len(now) == (4 if key == "checkout" else 3)
        stored = stored_answers.stored_answers(key)
        then = {query: stored[query] for query in now}
        assert_equal(without_senders(then), without_senders(stored_answers.without_sentences(now)))


def without_senders(answers: Answers) -> Answers:
    """Leave out the health checks that need the senders of events."""
    kept = deepcopy(answers)
    for answer in kept.values():
        body = answer.get("body")
        data = body.get("data") if isinstance(body, dict) else None
        if isinstance(data, dict) and "health" in data:
            data["health"] = [check for check in data["health"] if check["check"] not in SENDER_CHECKS]
            assert len(data["health"]) > 10
    return kept


def assert_equal(then: object, now: object) -> None:
    found = list(stored_answers.differences(then, now))
    assert not found, "\n".join([f"{len(found)} differences:", *found[:40]])


def test_every_answer_is_the_same(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        assert_same("service", old_store_answers.service_answers(client))
        now = old_store_answers.experiment_answers(client)
    assert tuple(now) == EXPERIMENTS
    for key in EXPERIMENTS:
        assert_same(key, now[key])


@pytest.mark.long(seconds=12)
def test_a_recount_changes_no_result(tmp_path: Path) -> None:
    data_dir = old_store.unpack(tmp_path)
    printed = old_store.truelift("rollup", "--data-dir", data_dir, "--full")
    # Every experiment that runs or is paused.
    assert "6 counted from the first event on" in printed
    assert "drifted" not in printed
    with old_store.served(data_dir) as client:
        assert_same_after_recount(client, *(key for key in COUNTED if key not in OVER))
        # Experiments that are over are counted again in another timezone only.
        move_project(client, "Asia/Kolkata")
        moved = stored_answers.without_sentences(old_store_answers.read_results(client, "banner"))
        assert list(stored_answers.differences(stored_answers.stored_answers("banner")["/results"], moved))
        move_project(client, "America/New_York")
        assert_same_after_recount(client, *OVER)


def move_project(client: TestClient, timezone: str) -> None:
    path = f"/projects/{old_store.facts()['project']}"
    changed = old_store.ask(client, "PATCH", path, json={"reporting_timezone": timezone})
    assert changed.status_code == 200


def test_visitors_see_the_variants_that_they_saw(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        now = old_store_answers.assignment_answers(client)
    assert_same("assignments", now)


def test_a_kept_answer_is_opened_with_the_key_in_the_folder(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        now = old_store_answers.repeated_answer(client)
    assert now["replayed"] == "true"
    assert_same("repeated_request", now)


def test_the_old_snapshot_is_read_as_before(tmp_path: Path) -> None:
    now = old_store_answers.snapshot_answers(old_store.unpack(tmp_path) / "snapshots")
    assert_same("snapshot", now)


def test_a_new_snapshot_of_the_store_holds_the_same(tmp_path: Path) -> None:
    data_dir = old_store.unpack(tmp_path)
    old_store.truelift("snapshot", "--data-dir", data_dir, "--out", tmp_path / "new")
    then, now = (
        stored_answers.stored_answers("snapshot"),
        old_store_answers.snapshot_answers(tmp_path / "new"),
    )
    assert then.keys() == now.keys()
    assert_equal(rows_of(then), rows_of(now))


def without_added_columns(frame: Answers) -> Answers:
    known = {name: value for name, value in frame["columns"].items() if name not in ADDED_COLUMNS}
    return {**frame, "columns": known}


def rows_of(answers: Answers) -> Answers:
    """Leave out verdicts, as each snapshot is judged at its own time, and what version 0.1 lacks.

    That are cubes, columns added since, and the orders of visitors and what they did before.
    """
    rows: Answers = {}
    for name, answer in answers.items():
        if isinstance(answer, dict) and "verdict" in answer:
            columns = answer["aggregates"]["columns"]
            known = {column: value for column, value in columns.items() if "_cubed_" not in column}
            aggregates = {**answer["aggregates"], "columns": known}
            visitors = without_added_columns(answer["visitors"])
            columns = visitors["columns"]
            further = (": orders", ": before")
            visitors["columns"] = {one: value for one, value in columns.items() if not one.endswith(further)}
            rows[name] = {**answer, "verdict": None, "visitors": visitors, "aggregates": aggregates}
        elif name == "events":
            rows[name] = without_added_columns(answer)
        else:
            rows[name] = answer
    assert len(rows) > 3
    return rows


def test_the_command_line_prints_the_same_verdicts() -> None:
    assert_same("command_line", old_store_answers.command_answers())


@pytest.mark.parametrize(
    ("then", "now"),
    [(1, 2), (1, 1.0), (1, True), (1.0, 1.0 + 1e-8), (None, 0), ("a", "b"), ([1], [1, 1]), ({"a": 1}, {})],
)
def test_a_difference_is_found(then: object, now: object) -> None:
    assert len(list(stored_answers.differences({"place": then}, {"place": now}))) == 1


def test_floats_that_differ_in_their_last_digits_are_equal() -> None:
    assert not list(stored_answers.differences([0.1 + 0.2, 0.0], [0.3, 1e-17]))


def test_the_columns_that_were_added_since_are_those_that_its_events_lack(tmp_path: Path) -> None:
    with duckdb.connect(old_store.unpack(tmp_path) / "warehouse.duckdb", read_only=True) as store:
        table = f"events_{old_store.facts()['project']}"
        stored = {name for name, *_ in store.execute(f'DESCRIBE "{table}"').fetchall()}
    assert {*EVENT_SCHEMA} - stored == ADDED_COLUMNS.keys()
