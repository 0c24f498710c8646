from pathlib import Path

import pytest

from pipeline.snapshots.files import placed, sweep
from pipeline.store.private_files import make_private_folder


def test_a_file_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    with placed(path) as draft:
        draft.write_text("half")
        assert not path.exists()
        draft.write_text("whole")
    assert [(one.name, one.read_text()) for one in path.parent.iterdir()] == [("file", "whole")]


def test_where_filling_fails_the_file_before_stays_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError), placed(path) as draft:
        draft.with_name("folder").open("wb")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir() if one.is_file()] == [
        ("file", "before")
    ]


def test_what_a_killed_process_had_begun_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "file.part").write_text("half")
    with placed(tmp_path / "file") as draft:
        assert draft.read_text() == ""
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_files_and_folders_are_their_owners_alone(tmp_path: Path) -> None:
    with placed(tmp_path / "a" / "b" / "file") as draft:
        assert draft.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a" / "b" / "file").stat().st_mode & 0o777 == 0o600
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b")} == {0o700}


def test_sweeping_keeps_what_is_named_and_removes_empty_folders(tmp_path: Path) -> None:
    for name in ("kept", "a/kept", "a/gone", "b/c/gone"):
        make_private_folder((tmp_path / name).parent)
        (tmp_path / name).touch()
    sweep(tmp_path, {"kept", "a/kept"})
    assert sorted(one.relative_to(tmp_path).as_posix() for one in tmp_path.rglob("*")) == [
        "a",
        "a/kept",
        "kept",
    ]


def test_sweeping_follows_no_link_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").touch()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    sweep(tmp_path / "inside", ())
    assert list((tmp_path / "inside").iterdir()) == []
    assert (tmp_path / "outside" / "file").exists()


def test_sweeping_what_is_not_there_is_nothing_to_do(tmp_path: Path) -> None:
    sweep(tmp_path / "nowhere", ())
