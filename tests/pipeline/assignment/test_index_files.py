import os
import random
import stat
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pipeline.assignment.index_files import IndexFiles, IndexHeader, Tables
from pipeline.assignment.sorted_pairs import Pairs
from pipeline.store.warehouse.visitor_history import AssignmentRule, EventMark
from tests.examples import trials

HEADER = IndexHeader(
    warehouse="wh_1",
    project="prj_1",
    base="idx_1",
    newest=EventMark(7, 2**64 - 1, 1_700_000_000_000_000),
    next_number=3,
    rules={2: AssignmentRule("exp_1", 5, ("var_0", "var_1"))},
)


def a_page(*keys: int) -> Pairs:
    ones = np.ones(len(keys), np.uint32)
    return Pairs(np.array(keys, np.uint64), ones, np.arange(len(keys), dtype=np.int64))


TABLES: Tables = {"assignments": tuple(a_page(10 * number, 10 * number + 1) for number in range(12))}
NEWER: Tables = {"assignments": (a_page(500),)}


@pytest.fixture
def files(tmp_path: Path) -> IndexFiles:
    return IndexFiles(tmp_path / "assignments", "wh_1")


def keys_of(tables: Tables) -> list[int]:
    return [key for page in tables.get("assignments", ()) for key in page.keys.tolist()]


def read(files: IndexFiles) -> list[tuple[int, list[int]]]:
    """Return the newest event and all keys of each way to go on."""
    return [
        (header.newest.seq, keys_of(base) + keys_of(delta)) for header, base, delta in files.read("prj_1")
    ]


ALL_KEYS = keys_of(TABLES)


def test_what_was_written_is_read(files: IndexFiles) -> None:
    assert read(files) == []
    files.write_base(HEADER, TABLES)
    ((header, base, delta),) = files.read("prj_1")
    assert (header, delta) == (HEADER, {})
    assert [[column.dtype for column in page] for page in base["assignments"]] == [
        [np.dtype(np.uint64), np.dtype(np.uint32), np.dtype(np.int64)]
    ] * 12
    assert files.stored_projects() == ["prj_1"]
    later = msgspec.structs.replace(HEADER, newest=EventMark(9, 1, 1))
    files.write_delta(later, NEWER)
    assert read(files) == [(9, [*ALL_KEYS, 500]), (7, ALL_KEYS)]


def test_a_smaller_file_of_another_larger_one_is_not_used(files: IndexFiles) -> None:
    files.write_base(HEADER, TABLES)
    files.write_delta(msgspec.structs.replace(HEADER, base="idx_0", newest=EventMark(9, 1, 1)), NEWER)
    assert read(files) == [(7, ALL_KEYS)]


def test_the_larger_file_replaces_both(files: IndexFiles) -> None:
    files.write_base(HEADER, TABLES)
    files.write_delta(HEADER, NEWER)
    files.write_base(HEADER, NEWER)
    assert read(files) == [(7, [500])]


@pytest.mark.parametrize("part", ["base", "delta"])
def test_a_damaged_file_is_not_used(files: IndexFiles, part: str, caplog: pytest.LogCaptureFixture) -> None:
    files.write_base(HEADER, TABLES)
    files.write_delta(HEADER, NEWER)
    path = files.folder / f"prj_1.{part}.npz"
    whole = path.read_bytes()
    generator = np.random.default_rng(5)
    expected = [] if part == "base" else [(7, ALL_KEYS)]
    for place in [0, len(whole) - 1, *generator.integers(0, len(whole), 200).tolist()]:
        path.write_bytes(whole[:place])
        assert read(files) == expected, place
        # A flipped bit may be in the padding of an array's header, or elsewhere without a meaning.
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert read(files) in (expected, [(7, [*ALL_KEYS, 500]), (7, ALL_KEYS)]), place
    assert "damaged" in caplog.text
    path.write_bytes(whole)
    assert read(files) == [(7, [*ALL_KEYS, 500]), (7, ALL_KEYS)]


@pytest.mark.parametrize("change", [{"warehouse": "wh_2"}, {"format": 0}, {"project": "prj_2"}])
def test_a_file_of_another_store_or_version_is_not_used(files: IndexFiles, change: dict[str, object]) -> None:
    files.write_base(HEADER, TABLES)
    (files.folder / "prj_1.base.npz").unlink()
    foreign = msgspec.structs.replace(HEADER, **change)
    files.write_base(foreign, TABLES)
    (files.folder / f"{foreign.project}.base.npz").rename(files.folder / "prj_1.base.npz")
    assert read(files) == []


def test_a_write_that_fails_leaves_the_former_file(
    files: IndexFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_base(HEADER, TABLES)

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        files.write_base(HEADER, NEWER)
    assert read(files) == [(7, ALL_KEYS)]
    assert [path.name for path in files.folder.iterdir()] == ["prj_1.base.npz"]


def test_a_new_file_is_synced_with_its_name_before_the_smaller_one_is_removed(
    files: IndexFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_base(HEADER, TABLES)
    files.write_delta(HEADER, NEWER)
    synced: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append((is_folder, (files.folder / "prj_1.delta.npz").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    files.write_base(HEADER, NEWER)
    assert synced == [(False, True), (True, True)]


def test_what_a_kill_leaves_of_a_write_is_not_read(files: IndexFiles) -> None:
    files.write_base(HEADER, TABLES)
    (files.folder / "prj_1.base.new").write_bytes((files.folder / "prj_1.base.npz").read_bytes()[:100])
    assert read(files) == [(7, ALL_KEYS)]
    assert files.stored_projects() == ["prj_1"]


def test_removed_files_are_gone(files: IndexFiles) -> None:
    files.write_base(HEADER, TABLES)
    files.write_delta(HEADER, NEWER)
    files.remove("prj_1")
    files.remove("prj_1")
    assert list(files.folder.iterdir()) == []


@pytest.mark.many(seconds=10)
def test_a_changed_bit_is_found_or_changes_nothing(files: IndexFiles) -> None:
    files.write_base(HEADER, TABLES)
    (path,) = files.folder.glob("*.base.npz")
    content, rng, found = path.read_bytes(), random.Random(9), 0  # noqa: S311 - places
    whole = read(files)
    for _ in range(trials(100, 2000)):
        changed, bit = bytearray(content), rng.randrange(8 * len(content))
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        # Such as the time of a file in the archive.
        found += read(files) == []
        assert read(files) in ([], whole)
    assert found
