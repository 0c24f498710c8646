import json
import stat
from pathlib import Path

import polars as pl
import pytest

from pipeline.disk_space import DiskFullError
from pipeline.ingest.refused_events import count_refused, erase_refused, write_refused
from pipeline.ingest.spooled_events import EventGroup
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from tests.pipeline.full_disk import no_file_larger_than
from tests.pipeline.ingest.event_rows import a_row


def test_refused_events_are_kept_as_json_by_their_number(tmp_path: Path) -> None:
    folder = tmp_path / "refused-events"
    write_refused(folder, [])
    assert not folder.exists()
    write_refused(folder, [EventGroup("prj_1", 7, [a_row("a"), a_row("b")])])
    content = json.loads((folder / "7.json").read_text())
    assert (content["project_id"], content["first_seq"]) == ("prj_1", 7)
    assert [event["event_id"] for event in content["events"]] == ["a", "b"]
    assert stat.S_IMODE((folder / "7.json").stat().st_mode) == 0o600


def test_laid_out_events_are_kept_alike(tmp_path: Path) -> None:
    rows = [a_row(f"e{number}") for number in range(300)]
    write_refused(tmp_path, [EventGroup("prj_1", 1, rows).laid_out_if_many()])
    laid_out = (tmp_path / "1.json").read_bytes()
    write_refused(tmp_path, [EventGroup("prj_1", 1, rows)])
    assert (tmp_path / "1.json").read_bytes() == laid_out


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with no_file_larger_than(10), pytest.raises(DiskFullError):
        write_refused(tmp_path, [EventGroup("prj_1", 1, [a_row()])])


def test_each_erased_event_of_a_person_is_counted(tmp_path: Path) -> None:
    rows = [a_row("a", 1), a_row("b", 2), a_row("c", 1), a_row("d", 1)]
    write_refused(tmp_path, [EventGroup("prj_1", 1, rows), EventGroup("prj_1", 5, rows[2:])])
    person = PersonIds(pl.Series([1], dtype=pl.UInt64), pl.Series([], dtype=pl.UInt64))
    assert count_refused(tmp_path, "prj_1", person) == 5
    assert erase_refused(tmp_path, "prj_2", person) == 0
    assert erase_refused(tmp_path, "prj_1", person) == 5
    assert count_refused(tmp_path, "prj_1", person) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]
