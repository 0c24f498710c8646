"""Commits of events: their files of the spool go afterwards, and one taken as failed is read again."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from pipeline.ingest.event_commits import EventCommits, LoadedSeqError
from pipeline.store.spool.spool import Spool
from tests.pipeline.ingest.test_loader import an_ingest, send


def test_files_of_the_spool_go_after_their_events_are_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = list[tuple[str, int]]()
    commit, remove = EventCommits.commit, Spool.remove

    def committed(commits: EventCommits, tables: Mapping[str, pl.DataFrame], last_seq: int) -> None:
        commit(commits, tables, last_seq)
        done.append(("commit", last_seq))

    def removed(spool: Spool, loaded_seq: int) -> None:
        done.append(("remove", loaded_seq))
        remove(spool, loaded_seq)

    monkeypatch.setattr(EventCommits, "commit", committed)
    monkeypatch.setattr(Spool, "remove", removed)
    with an_ingest(tmp_path) as (ingest, _):
        for event_id in "abc":
            send(ingest, event_id)
            assert ingest.load()
    # The end closes the spool, which removes the last file.
    assert done[:6] == [(what, number) for number in (1, 2, 3) for what in ("commit", "remove")]


def test_a_commit_that_was_taken_as_failed_is_read_from_the_warehouse(tmp_path: Path) -> None:
    with an_ingest(tmp_path) as (ingest, warehouse):
        send(ingest, "a", "b", "c")
        assert ingest.load()
        commits = EventCommits(warehouse, 2, {})
        with pytest.raises(LoadedSeqError):
            commits.commit({}, 3)
        commits.read_loaded_seq()
        assert (commits.loaded_seq, commits.last_seq_of("prj_1")) == (3, 3)
