import shutil
from pathlib import Path

from pipeline.store.spool.salvage import salvage_spool
from pipeline.store.spool.segments import read_segments, segment_paths
from pipeline.store.spool.spool import Spool
from pipeline.store.spool.spool_facts import inspect_spool


def test_whole_records_are_kept_and_the_damaged_spool_stays_beside(tmp_path: Path) -> None:
    folder, aside = tmp_path / "spool", tmp_path / "spool.damaged"
    for number in (1, 2):
        spool = Spool(folder, "wh_old", ("event_id",))
        list(spool.read_left())
        for record in range(1, 4):
            spool.append(10 * number + record, 10 * number + record, b"%d" % (10 * number + record))
        spool.close(0)
    first, _ = segment_paths(folder).values()
    content = first.read_bytes()
    first.write_bytes(content.replace(b"12", b"??"))
    damaged = {path.name: path.read_bytes() for path in segment_paths(folder).values()}
    assert inspect_spool(folder, "wh_old", 0).problem is not None

    salvage_spool(folder, aside, ["wh_new", "wh_old"], 10)
    kept = [record.payload for segment in read_segments(folder) for record in segment.records]
    assert kept == [b"11", b"13", b"21", b"22", b"23"]
    facts = inspect_spool(folder, "wh_new", 10)
    assert (facts.last_seq, facts.problem) == (23, None)
    assert {path.name: path.read_bytes() for path in segment_paths(aside).values()} == damaged


def test_events_of_an_unknown_warehouse_are_not_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    spool = Spool(folder, "wh_other", ())
    spool.append(1, 1, b"foreign")
    spool.close(0)
    salvage_spool(folder, tmp_path / "aside", ["wh_1"], 0)
    assert segment_paths(folder) == {}
    assert len(segment_paths(tmp_path / "aside")) == 1


def test_copied_events_are_kept_once_and_an_unreadable_entry_is_left_aside(tmp_path: Path) -> None:
    folder, aside = tmp_path / "spool", tmp_path / "spool.damaged"
    spool = Spool(folder, "wh_1", ())
    for number in (1, 2, 3):
        spool.append(number, number, b"%d" % number)
    spool.close(0)
    (written,) = segment_paths(folder).values()
    shutil.copy(written, folder / "000000000002.spool")
    (folder / "000000000003.spool").mkdir()
    assert inspect_spool(folder, "wh_1", 0).problem is not None

    salvage_spool(folder, aside, ["wh_1"], 0)
    kept = [record.payload for segment in read_segments(folder) for record in segment.records]
    assert kept == [b"1", b"2", b"3"]
    assert inspect_spool(folder, "wh_1", 0).problem is None
    assert (aside / "000000000003.spool").is_dir()
