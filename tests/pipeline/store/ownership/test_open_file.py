from pathlib import Path

import pytest

from pipeline.store.ownership.open_file import OpenFile


def test_a_file_that_was_removed_or_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    opened = OpenFile(path)
    path.write_text("written to")
    assert opened.is_in_place()
    path.rename(tmp_path / "moved")
    assert not opened.is_in_place()
    path.write_text("new")
    assert not opened.is_in_place()


def test_there_is_no_open_file_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        OpenFile(tmp_path / "absent")
