from pathlib import Path

from pipeline.store.ownership.commit_mark import CommitMark, is_damaged_mark


def test_a_mark_is_the_last_number_written(tmp_path: Path) -> None:
    mark = CommitMark(tmp_path / "database")
    assert mark.read() == 0
    for number in (7, 10**15, 12):
        mark.write(number)
        assert CommitMark(tmp_path / "database").read() == number
    assert mark.path.stat().st_mode & 0o777 == 0o600


def test_a_mark_that_cannot_be_read_or_written_suspects_nothing(tmp_path: Path) -> None:
    mark = CommitMark(tmp_path / "database")
    mark.path.write_bytes(b"\x00" * 21)
    assert mark.read() == 0
    CommitMark(tmp_path / "no folder" / "database").write(3)
    assert CommitMark(tmp_path / "no folder" / "database").read() == 0


def test_a_damaged_mark_is_told_from_one_that_a_power_cut_left_and_from_an_earlier_one(
    tmp_path: Path,
) -> None:
    mark = CommitMark(tmp_path / "database")
    assert not is_damaged_mark(mark.path)
    for content, number in ((b"", 0), (b"\0" * 30, 0), (b"00000000000000000071\n", 71)):
        mark.path.write_bytes(content)
        assert (is_damaged_mark(mark.path), mark.read()) == (False, number)
    mark.write(71)
    mark.path.write_bytes(mark.path.read_bytes().replace(b"71", b"73"))
    assert (is_damaged_mark(mark.path), mark.read()) == (True, 0)
