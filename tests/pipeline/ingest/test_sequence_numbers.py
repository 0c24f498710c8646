from pathlib import Path

from pipeline.ingest.sequence_numbers import SequenceNumbers, have_users
from pipeline.store.ownership.commit_mark import CommitMark
from tests.pipeline.ingest.event_rows import a_row


def numbers_in(folder: Path) -> SequenceNumbers:
    return SequenceNumbers(10, 8, {"prj_1": 9}, CommitMark(folder / "warehouse.duckdb"))


def test_numbers_are_given_once_whatever_came_of_them(tmp_path: Path) -> None:
    numbers = numbers_in(tmp_path)
    assert [numbers.take(3), numbers.take(1), numbers.take(2)] == [11, 14, 15]
    numbers.continue_after(20)
    assert numbers.take(1) == 21


def test_the_mark_is_of_the_newest_acknowledged_number(tmp_path: Path) -> None:
    numbers, mark = numbers_in(tmp_path), CommitMark(tmp_path / "warehouse.duckdb")
    for acknowledged, expected in ((14, 14), (12, 14), (15, 15)):
        numbers.acknowledge(acknowledged)
        assert mark.read() == numbers.last_acknowledged == expected


def test_the_newest_events_of_a_project_are_known_until_it_is_forgotten(tmp_path: Path) -> None:
    numbers = numbers_in(tmp_path)
    assert (numbers.last_seq_of("prj_1"), numbers.last_user_seq_of("prj_1")) == (9, 9)
    numbers.note_events("prj_1", 12, has_users=False)
    numbers.note_events("prj_2", 13, has_users=True)
    numbers.note_events("prj_1", 11, has_users=False)
    assert (numbers.last_seq_of("prj_1"), numbers.last_user_seq_of("prj_1")) == (12, 9)
    assert (numbers.last_seq_of("prj_2"), numbers.last_user_seq_of("prj_2")) == (13, 13)
    numbers.forget("prj_2")
    assert (numbers.last_seq_of("prj_2"), numbers.last_user_seq_of("prj_2")) == (0, 0)


def test_events_with_a_user_id_are_noticed() -> None:
    assert not have_users([a_row(), a_row("e2")])
    assert have_users([a_row(), a_row("e2")._replace(user_id="ann", user_key=7)])
