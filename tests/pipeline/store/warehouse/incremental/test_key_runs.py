import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.warehouse.incremental import key_runs
from pipeline.store.warehouse.incremental.key_runs import (
    COLUMNS,
    KeyRun,
    Keys,
    NewestEvent,
    merge_runs,
    pack,
    read_runs,
    remove_runs,
    write_run,
)
from tests.examples import examples

# Alike in their upper bits, so that some are told apart by whole keys alone.
KEYS = st.integers(0, 7).map(lambda number: 2**63 + number) | st.integers(0, 2**64 - 1)
EVENTS = st.lists(st.tuples(st.integers(1, 3), KEYS), min_size=1, max_size=40)


def written(folder: Path, events: list[tuple[int, int]], after: int = 0) -> KeyRun:
    """Write a run of events, each with a number so much higher than the one before it and a key."""
    seqs = after + np.cumsum([step for step, _ in events])
    keys = np.array([key for _, key in events], np.uint64)
    newest = NewestEvent(int(seqs[-1]), int(keys[-1]), 7)
    packed = pack(keys, seqs, after, newest.seq)
    return write_run(folder, "prj_1", newest, after, [[packed[:3], packed[3:]], [packed], []])


def numbers(runs: list[KeyRun], keys: list[int], column: str = COLUMNS[0]) -> set[int]:
    sought: Keys = np.array(sorted(keys), np.uint64)
    return {seq for run in runs for seq in run.find(column, sought).tolist()}


@examples(40, 400, seconds=10)
@given(st.lists(EVENTS, min_size=1, max_size=4), st.lists(KEYS, max_size=5), st.integers(1, 20))
def test_runs_and_their_merge_find_every_event_of_a_key(
    tmp_path_factory: pytest.TempPathFactory,
    streams: list[list[tuple[int, int]]],
    sought: list[int],
    part: int,
) -> None:
    folder = tmp_path_factory.mktemp("keys")
    events: dict[int, int] = {}
    for stream in streams:
        after = max(events, default=0)
        run = written(folder, stream, after)
        seqs = (after + np.cumsum([step for step, _ in stream])).tolist()
        events |= dict(zip(seqs, (key for _, key in stream), strict=True))
        assert run.until == max(events)
    expected = {seq for seq, key in events.items() if key in sought}
    runs = read_runs(folder, "prj_1")
    assert [run.after for run in runs[1:]] == [run.until for run in runs[:-1]]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(key_runs, "_PART", part)
        merged = [merge_runs(folder, "prj_1", runs)]
    for found in (numbers(runs, sought), numbers(merged, sought), numbers(merged, sought, COLUMNS[1])):
        # What else is found has nearly the same key.
        assert {seq for seq in found if events[seq] in sought} == expected
    assert numbers(merged, sought, COLUMNS[2]) == set()
    # The merged run, and not its parts, is read from now on.
    assert [run.path for run in read_runs(folder, "prj_1")] == [merged[0].path]


def test_hardly_any_other_event_is_found(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    events = [(1, int(key)) for key in random.integers(0, 2**64, 50_000, np.uint64)]
    run = written(tmp_path, events)
    others = random.integers(0, 2**64, 50_000, np.uint64).tolist()
    # 48 bits of the keys are compared: 50,000 squared by 2**48 is a hundred-thousandth.
    assert numbers([run], others) == set()


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda path, at=at: flip(path, at) for at in (0, 25, 90, -20, -10, -1)),
        *(lambda path, left=left: os.truncate(path, left) for left in (0, 7, 40, 100)),
        lambda path: path.write_bytes(path.read_bytes() + b"\0"),
        lambda path: path.unlink(),
    ],
)
def test_a_damaged_run_and_those_after_it_are_not_read(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    first = written(tmp_path, [(1, 5), (1, 6)])
    second = written(tmp_path, [(1, 5), (1, 6)], first.until)
    written(tmp_path, [(1, 5)], second.until)
    (tmp_path / "prj_1.1-x.keys").touch()
    damage(second.path)
    assert [run.path for run in read_runs(tmp_path, "prj_1")] == [first.path]
    damage(first.path)
    assert read_runs(tmp_path, "prj_1") == []


def test_a_run_of_another_version_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, [(1, 5)])
    monkeypatch.setattr(key_runs, "FORMAT", key_runs.FORMAT + 1)
    assert read_runs(tmp_path, "prj_1") == []


@pytest.mark.parametrize("step", ["fsync", "replace", "sync_folder"])
def test_a_run_that_is_not_written_whole_leaves_the_ones_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    runs = [written(tmp_path, [(1, 5), (1, 6)])]
    runs.append(written(tmp_path, [(1, 5)], runs[0].until))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    owner = {"fsync": os, "replace": Path, "sync_folder": key_runs}[step]
    with monkeypatch.context() as full:
        full.setattr(owner, step, fail)
        with pytest.raises(OSError, match="No space"):
            merge_runs(tmp_path, "prj_1", runs)
    assert numbers(read_runs(tmp_path, "prj_1"), [5]) >= {1, 3}
    assert list(tmp_path.glob("*.new")) == []


def test_removal_spares_other_projects_and_named_runs(tmp_path: Path) -> None:
    first = written(tmp_path, [(1, 5)])
    written(tmp_path, [(1, 6)], first.until)
    (tmp_path / "prj_1.0-9.new").touch()
    (tmp_path / "prj_10.0-9.keys").touch()
    remove_runs(tmp_path, "prj_1", but=[first])
    assert {path.name for path in tmp_path.iterdir()} == {"prj_1.0-1.keys", "prj_10.0-9.keys"}
    remove_runs(tmp_path, "prj_1")
    assert {path.name for path in tmp_path.iterdir()} == {"prj_10.0-9.keys"}
