import os
from pathlib import Path

import pytest

from pipeline.store.private_files import make_private_file, make_private_folder, restrict, write_for_owner


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_new_folders_and_files_are_their_owners_alone(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")
    make_private_file(tmp_path / "a" / "b" / "file")
    assert {mode_of(tmp_path / "a"), mode_of(tmp_path / "a" / "b")} == {0o700}
    assert mode_of(tmp_path / "a" / "b" / "file") == 0o600


def test_a_file_that_is_there_keeps_its_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    make_private_file(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "kept"


def test_older_files_and_folders_lose_the_rights_of_others(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "folder").chmod(0o755)
    (tmp_path / "folder" / "file").chmod(0o644)
    restrict([tmp_path / "folder", tmp_path / "folder" / "file", tmp_path / "absent"])
    assert (mode_of(tmp_path / "folder"), mode_of(tmp_path / "folder" / "file")) == (0o700, 0o600)


def test_a_folder_that_all_share_and_the_target_of_a_link_keep_theirs(tmp_path: Path) -> None:
    for name in ("shared", "target"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared").chmod(0o1777)
    (tmp_path / "target").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    restrict([tmp_path / "shared", tmp_path / "link"])
    assert (mode_of(tmp_path / "shared"), mode_of(tmp_path / "target")) == (0o1777, 0o755)


def test_a_file_for_the_owner_of_a_folder_is_theirs_alone(tmp_path: Path) -> None:
    # Only an administrator can write for another user.
    owner = 1234 if os.geteuid() == 0 else os.geteuid()
    os.chown(tmp_path, owner, -1)
    make_private_folder(tmp_path / "left")
    write_for_owner(tmp_path / "left", "file", b"content")
    found = tmp_path / "left" / "file"
    assert (found.read_bytes(), mode_of(found)) == (b"content", 0o600)
    assert {path.stat().st_uid for path in (found, found.parent)} == {owner}
    assert list(found.parent.iterdir()) == [found]


def test_no_file_is_written_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "left").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="left"):
        write_for_owner(tmp_path / "left", "file", b"content")
    assert list((tmp_path / "target").iterdir()) == []
