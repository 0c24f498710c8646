"""A store that version 0.1 wrote gives the same answers in this version.

`tests/data/README.md` says what is in it.
"""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests import old_store
from tests.old_store import Answers

# The test starts the command line on a folder, whose catalog is the SQLite file in it.
pytestmark = pytest.mark.only_on("sqlite")


def assert_same(then: Answers, now: Answers, *, count: int) -> None:
    """Compare answers, of which there are `count`."""
    assert len(then) == count
    found = list(old_store.differences(then, now))
    assert not found, "\n".join([f"{len(found)} differences:", *found[:40]])


# How many answers there are of each experiment; the last two have no visitors.
COUNTS = {
    "checkout": 20,
    "banner": 10,
    "recommendations": 10,
    "shipping": 10,
    "search": 10,
    "footer": 10,
    "reviews": 10,
    "gallery": 10,
    "newsletter": 9,
    "holidays": 9,
}
COUNTED = tuple(COUNTS)[:8]


def assert_same_after_recount(client: TestClient, *keys: str) -> None:
    """Compare results, filtered ones, the export, and segments, which are asked for whole or in parts."""
    for key in keys:
        now = old_store.recounted_answers(client, key)
        stored = old_store.stored_answers(key)
        assert_same({query: stored[query] for query in now}, now, count=3 if key == "checkout" else 4)


def test_every_answer_is_the_same(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        assert_same(old_store.stored_answers("service"), old_store.service_answers(client), count=24)
        now = old_store.experiment_answers(client)
        assert list(now) == list(COUNTS)
        for key, count in COUNTS.items():
            assert_same(old_store.stored_answers(key), now[key], count=count)


def test_a_recount_changes_no_result(tmp_path: Path) -> None:
    data_dir = old_store.unpack(tmp_path)
    told = old_store.truelift("rollup", "--data-dir", data_dir, "--full")
    # All that has started and isn't over.
    assert "6 counted from the first event on" in told
    assert "drifted" not in told
    with old_store.served(data_dir) as client:
        assert_same_after_recount(client, *COUNTED)
        # A rebuild leaves what completed experiments ended with; another timezone counts them, too.
        move_project(client, "Asia/Kolkata")
        elsewhere = old_store.read_results(client, "banner")
        assert list(old_store.differences(old_store.stored_answers("banner")["/results"], elsewhere))
        move_project(client, "America/New_York")
        assert_same_after_recount(client, "banner", "gallery")


def move_project(client: TestClient, timezone: str) -> None:
    path = f"/projects/{old_store.facts()['project']}"
    changed = old_store.ask(client, "PATCH", path, json={"reporting_timezone": timezone})
    assert changed.status_code == 200


def test_visitors_see_the_variants_that_they_saw(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        now = old_store.assignment_answers(client)
    assert_same(old_store.stored_answers("assignments"), now, count=41)


def test_a_kept_answer_is_opened_with_the_key_in_the_folder(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        now = old_store.repeated_answer(client)
    assert now["replayed"] == "true"
    assert_same(old_store.stored_answers("repeated_request"), now, count=3)


def test_the_old_snapshot_is_read_as_before(tmp_path: Path) -> None:
    now = old_store.snapshot_answers(old_store.unpack(tmp_path) / "snapshots")
    assert_same(old_store.stored_answers("snapshot"), now, count=11)


def test_a_new_snapshot_of_the_store_holds_the_same(tmp_path: Path) -> None:
    data_dir = old_store.unpack(tmp_path)
    old_store.truelift("snapshot", "--data-dir", data_dir, "--out", tmp_path / "new")
    now = old_store.snapshot_answers(tmp_path / "new")
    assert_same(old_store.stored_answers("snapshot"), now, count=11)


def test_the_command_line_prints_the_same_verdicts() -> None:
    assert_same(old_store.stored_answers("command_line"), old_store.command_answers(), count=4)


@pytest.mark.parametrize(
    ("then", "now"),
    [(1, 2), (1, 1.0), (1, True), (1.0, 1.0 + 1e-8), (None, 0), ("a", "b"), ([1], [1, 1]), ({"a": 1}, {})],
)
def test_a_difference_is_found(then: object, now: object) -> None:
    assert len(list(old_store.differences({"place": then}, {"place": now}))) == 1


def test_floats_that_differ_in_their_last_digits_are_equal() -> None:
    assert not list(old_store.differences([0.1 + 0.2, 0.0], [0.3, 1e-17]))
