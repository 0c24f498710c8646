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


# How many answers there are of each experiment: most have a goal or two, the main one eight.
COUNTS = {
    "checkout": 28,
    "banner": 13,
    "recommendations": 14,
    "shipping": 14,
    "search": 14,
    "footer": 14,
    "reviews": 13,
    "gallery": 13,
    "newsletter": 12,
    "holidays": 12,
}


def results_of(answers: Answers) -> Answers:
    return {query: answer for query, answer in answers.items() if query.startswith("/results")}


def assert_same_results(client: TestClient) -> None:
    """Compare the results of every experiment, whatever was changed of the project since."""
    for key, count in COUNTS.items():
        stored = results_of(old_store.stored_answers(key))
        assert_same(stored, old_store.result_answers(client, key), count=count - 1)


def test_every_answer_is_the_same(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        assert_same(old_store.stored_answers("service"), old_store.service_answers(client), count=24)
        now = old_store.experiment_answers(client)
        assert list(now) == list(COUNTS)
        for key, count in COUNTS.items():
            assert_same(old_store.stored_answers(key), now[key], count=count)


def test_a_full_rebuild_of_the_rollup_changes_no_result(tmp_path: Path) -> None:
    data_dir = old_store.unpack(tmp_path)
    told = old_store.truelift("rollup", "--data-dir", data_dir, "--full")
    # All that has started and isn't over.
    assert "6 counted from the first event on" in told
    assert "drifted" not in told
    with old_store.served(data_dir) as client:
        assert_same_results(client)


def test_a_recount_in_another_timezone_and_back_changes_no_result(tmp_path: Path) -> None:
    # A rebuild leaves what completed experiments ended with; another timezone counts them, too.
    project = f"/projects/{old_store.facts()['project']}"
    query = "/results"
    with old_store.served(old_store.unpack(tmp_path)) as client:
        for timezone in ("Asia/Kolkata", "America/New_York"):
            changed = old_store.ask(client, "PATCH", project, json={"reporting_timezone": timezone})
            assert changed.status_code == 200
            moved = {key: old_store.result_answers(client, key)[query] for key in ("banner", "gallery")}
            is_home = timezone == "America/New_York"
            for key, answer in moved.items():
                assert (answer == old_store.stored_answers(key)[query]) is is_home
        assert_same_results(client)


def test_visitors_see_the_variants_that_they_saw(tmp_path: Path) -> None:
    with old_store.served(old_store.unpack(tmp_path)) as client:
        now = old_store.assignment_answers(client)
    assert_same(old_store.stored_answers("assignments"), now, count=81)


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
