import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.store.spool import spool as spools
from pipeline.store.spool.segments import segment_paths
from pipeline.store.spool.spool import Spool
from pipeline.store.spool.spool_facts import SpoolFacts, inspect_spool

RECORDS = 9


def a_spool(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three segments of three records each, numbered from 1 to 9."""
    monkeypatch.setattr(spools, "SEGMENT_BYTES", 1000)
    spool = Spool(folder / "spool", "wh_1", ())
    for number in range(1, RECORDS + 1):
        spool.append(number, number, b"x" * 350)
    assert len(segment_paths(spool.folder)) == 3
    return spool.folder


def spoil(path: Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * share)] ^= 0xFF
    path.write_bytes(content)


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:-size])


DAMAGES: dict[str, tuple[Callable[[list[Path]], object], str]] = {
    "first file gone": (lambda paths: paths[0].unlink(), "lacks acknowledged events before"),
    "middle file gone": (lambda paths: paths[1].unlink(), "events 4 to 6 are missing"),
    "first file cut": (lambda paths: cut(paths[0], 10), "events 3 to 3 are missing"),
    "record in the middle spoiled": (lambda paths: spoil(paths[1], 0.5), "damaged between whole records"),
    "header spoiled": (lambda paths: spoil(paths[1], 0.01), "is damaged at its beginning"),
    "record in the middle of the last file spoiled": (
        lambda paths: spoil(paths[2], 0.5),
        "damaged between whole records",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_lost_events_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    folder = a_spool(tmp_path, monkeypatch)
    inflict, problem = DAMAGES[damage]
    inflict(list(segment_paths(folder).values()))
    assert problem in (inspect_spool(folder, "wh_1", 0).problem or "")
    # What is in the warehouse cannot be lost here.
    assert inspect_spool(folder, "wh_1", RECORDS).problem is None


def test_a_whole_spool_has_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_spool(tmp_path, monkeypatch)
    assert inspect_spool(folder, "wh_1", 0) == SpoolFacts(RECORDS, None)
    next(iter(segment_paths(folder).values())).unlink()
    assert inspect_spool(folder, "wh_1", 3) == SpoolFacts(RECORDS, None)
    assert inspect_spool(tmp_path / "absent", "wh_1", 3) == SpoolFacts(0, None)


def test_a_torn_end_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_spool(tmp_path, monkeypatch)
    *_, last = segment_paths(folder).values()
    cut(last, 5)
    assert inspect_spool(folder, "wh_1", 0) == SpoolFacts(RECORDS - 1, None)
    last.write_bytes(last.read_bytes() + b"\xf5evtgarbage" * 20)
    assert inspect_spool(folder, "wh_1", 0) == SpoolFacts(RECORDS - 1, None)


def test_the_spool_of_another_warehouse_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_spool(tmp_path, monkeypatch)
    for other in ("wh_2", None):
        assert "is of another warehouse" in (inspect_spool(folder, other, 0).problem or "")


def test_a_copy_of_a_file_is_told_while_its_events_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_spool(tmp_path, monkeypatch)
    *_, last = segment_paths(folder).values()
    shutil.copy(last, folder / "000000000004.spool")
    assert "repeats events of an earlier file" in (inspect_spool(folder, "wh_1", 0).problem or "")
    assert inspect_spool(folder, "wh_1", RECORDS) == SpoolFacts(RECORDS, None)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_spool(tmp_path, monkeypatch)
    (folder / "000000000004.spool").mkdir()
    facts = inspect_spool(folder, "wh_1", 0)
    assert facts.last_seq == RECORDS
    assert "000000000004.spool cannot be read: Is a directory" in (facts.problem or "")
