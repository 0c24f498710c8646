import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.project import Project
from pipeline.backup_manifest import copied_paths
from pipeline.disk_space import DiskFullError
from pipeline.events.hashing import hash64
from pipeline.jobs.deletion import remove_deleted_projects
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.connection import Warehouse, registered
from pipeline.store.warehouse.events import table_name
from pipeline.store.warehouse.incremental import event_keys, key_runs
from pipeline.store.warehouse.incremental.event_keys import catch_up, count_removed, find_seqs, open_runs
from pipeline.store.warehouse.incremental.touched_events import TouchedEvents
from pipeline.store.warehouse.visitors import result_table
from tests.builders import NOW, STARTED
from tests.counted_work import counted_warehouse
from tests.examples import examples
from tests.pipeline.erasure.erased_persons import erase_visitor
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure

FEW = {"MIN_EVENTS": 1, "_AT_ONCE": 3}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with (
        a_working_store(tmp_path_factory.mktemp("store")) as opened,
        pytest.MonkeyPatch.context() as patched,
    ):
        for name, value in FEW.items():
            patched.setattr(event_keys, name, value)
        yield opened


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


def files(store: WorkingStore, project: Project) -> list[Path]:
    return sorted(store.settings.event_keys_path.glob(f"{project.id}.*"))


def write(store: WorkingStore, project: Project, *rows: EventRow) -> int:
    store.write(project, *rows)
    return store.ingest.last_seq_of(project.id)


def covered(store: WorkingStore, project: Project) -> int:
    with store.warehouse.cursor() as cursor:
        runs = open_runs(cursor, store.settings.event_keys_path, project.id)
    return runs[-1].until if runs else 0


def copied(store: WorkingStore, project: Project, after: int, visitors: set[str], *, by_scan: bool) -> Any:
    """List the events that are copied of some visitors, and those with the ids of these."""
    with store.warehouse.cursor() as cursor:
        runs = [] if by_scan else open_runs(cursor, store.settings.event_keys_path, project.id)
        events = TouchedEvents(cursor, f'"{table_name(project.id)}"', after=after, runs=runs)
        keys = pl.Series("visitor_key", map(hash64, sorted(visitors)), pl.UInt64)
        with registered(cursor, "visitors", keys.to_frame()):
            cursor.execute("CREATE OR REPLACE TEMP TABLE touched AS FROM visitors")
        changed = sorted(cursor.sql(f"FROM {events.changed()}").select("seq").fetchall())
        assert events.add_visitors("touched", most=1000)
        events.add_related()
        ids = cursor.table(events.table).select("seq, visitor_id IS NOT NULL")
        tables = (ids, cursor.table(events.same_ids).select("seq, event_key"))
        stored = dict(cursor.table(table_name(project.id)).select("seq, visitor_id IS NOT NULL").fetchall())
        assert all(stored[seq] == has_id for seq, has_id in ids.fetchall())
        return changed, *(sorted(table.fetchall()) for table in tables)


VISITORS = st.sampled_from(["v0", "v1", "v2", "v3"])
WRITTEN = st.fixed_dictionaries(
    {
        "visitor": VISITORS,
        "event_id": st.integers(0, 9).map("id{}".format),
        "transaction_id": st.none() | st.sampled_from(["t0", "t1"]),
        "sender": st.sampled_from(["browser", "server"]),
        "minute": st.integers(0, 5),
    }
) | st.sampled_from(
    [
        {"visitor": None, "user_id": "v0"},
        # The id of a visitor that a server uses for the user, too.
        {"visitor": "v0", "user_id": "v0", "sender": "server"},
        {"visitor": "v1", "user_id": "v0"},
    ]
)
ACTIONS = st.one_of(
    st.lists(WRITTEN, min_size=1, max_size=8),
    st.sampled_from(["catch up", "catch up", "remove old", "restart"]),
    VISITORS.map("erase {}".format),
    st.tuples(st.sampled_from(["flip", "cut", "unlink"]), st.integers(0, 200)),
)


def act(store: WorkingStore, project: Project, action: Any) -> None:
    found = files(store, project)
    match action:
        case [*events] if isinstance(action, list):
            store.write(project, *(a_purchase(**fields) for fields in events))
        case "catch up":
            catch_up(store.warehouse, project.id, until=store.ingest.last_seq_of(project.id))
        case "remove old":
            store.rollup.remove_old_events(project.id, STARTED + timedelta(minutes=2, seconds=1))
        case "restart":
            key_runs.require_intact.cache_clear()
        case str():
            assert erase_visitor(store, project, action.removeprefix("erase ")).is_complete
        case _ if found:
            kind, number = action
            path = found[number % len(found)]
            damage(path, kind, number % path.stat().st_size)


def damage(path: Path, kind: str, at: int) -> None:
    content = bytearray(path.read_bytes())
    if kind == "unlink":
        path.unlink()
    elif kind == "cut":
        path.write_bytes(content[:at])
    else:
        content[at] ^= 1
        path.write_bytes(content)


@examples(8, 100, seconds=40)
@given(st.lists(ACTIONS, min_size=3, max_size=9), st.sets(VISITORS), st.floats(0, 1))
def test_events_are_those_of_a_scan_whatever_happens_to_the_files(
    store: WorkingStore, actions: list[Any], visitors: set[str], share: float
) -> None:
    project = store.add_project()
    first = [{"visitor": "v0"}, {"visitor": "v1"}, {"visitor": "v4"}, {"visitor": "v4"}]
    for action in [first, *actions]:
        act(store, project, action)
        after = int(share * store.ingest.last_seq_of(project.id))
        found, expected = (copied(store, project, after, visitors, by_scan=one) for one in (False, True))
        assert found == expected


def test_keys_are_in_one_run_and_few_new_ones_are_not_written(
    store: WorkingStore, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(store, project, *(an_event("pageview", f"v{one}") for one in range(9)))
    catch_up(store.warehouse, project.id, until=first)
    assert (len(files(store, project)), covered(store, project)) == (1, first)
    monkeypatch.setattr(event_keys, "MIN_EVENTS", 2)
    newer = write(store, project, an_event("pageview"))
    catch_up(store.warehouse, project.id, until=newer)
    assert covered(store, project) == first
    newest = write(store, project, an_event("pageview"))
    catch_up(store.warehouse, project.id, until=newest)
    # The second run is less than half of the first.
    assert (len(files(store, project)), covered(store, project)) == (2, newest)


def test_the_rows_that_a_find_reads_do_not_grow_with_the_stored_events(
    store: WorkingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows_read(stored: int, *, by_scan: bool) -> int:
        project = store.add_project()
        until = write(store, project, *(an_event("pageview", f"v{one}") for one in range(stored)))
        catch_up(store.warehouse, project.id, until=until)
        with store.warehouse.cursor() as cursor:
            runs = [] if by_scan else open_runs(cursor, store.settings.event_keys_path, project.id)
        with counted_warehouse(store.warehouse) as work, store.warehouse.cursor() as cursor:
            events = TouchedEvents(cursor, f'"{table_name(project.id)}"', after=until, runs=runs)
            # A statement is counted with the next one.
            cursor.execute("SELECT 1")
            before = work.rows_scanned
            key = hash64("v7")
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE touched AS SELECT {key}::UBIGINT AS visitor_key")
            assert not events.add_visitors("touched", most=0)
            cursor.execute("SELECT 1")
            return work.rows_scanned - before

    monkeypatch.setattr(event_keys, "_AT_ONCE", 2**20)
    assert rows_read(2000, by_scan=False) == rows_read(200, by_scan=False) < 10
    assert rows_read(2000, by_scan=True) > 1000


def test_files_of_other_events_are_not_used_and_made_anew(store: WorkingStore) -> None:
    project, other = store.add_project(), store.add_project()
    until = write(store, project, an_event("pageview", "v1"), an_event("pageview", "v2"))
    catch_up(store.warehouse, project.id, until=until)
    newest = write(store, other, an_event("pageview", "v1"), an_event("pageview", "v1"))
    (path,) = files(store, project)
    shutil.copy(path, path.with_name(path.name.replace(project.id, other.id)))
    assert (covered(store, other), covered(store, project)) == (0, until)
    catch_up(store.warehouse, other.id, until=newest)
    assert covered(store, other) == newest
    assert len(files(store, other)) == 1


def test_a_full_disk_leaves_the_events_to_a_scan(
    store: WorkingStore, project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DiskFullError("the disk is full")

    until = write(store, project, an_event("pageview"))
    with monkeypatch.context() as full:
        full.setattr(Warehouse, "require_space", fail)
        catch_up(store.warehouse, project.id, until=until)
    assert "the disk is full" in caplog.text
    assert files(store, project) == []


def test_erasure_takes_the_keys_of_a_person_and_those_of_others_are_written_again(
    store: WorkingStore, project: Project
) -> None:
    write(
        store, project, an_exposure(store.add_experiment(project), 0, "gone"), an_event("pageview", "stays")
    )
    store.rollup.refresh(project.id)
    gone = pl.Series([hash64("gone")], dtype=pl.UInt64)
    with store.warehouse.transaction() as cursor:
        cursor.execute(f"DELETE FROM \"{table_name(project.id)}\" WHERE visitor_id = 'gone'")  # noqa: S608 (named here)
        assert count_removed(store.warehouse, project.id, gone) == 0
    assert count_removed(store.warehouse, project.id, gone) == 1
    read_back = {one.place: one.left for one in erase_visitor(store, project, "gone").read_back}
    assert read_back["keys of events"] == 0
    assert files(store, project) == []
    write(store, project, an_event("pageview", "stays"))
    store.rollup.refresh(project.id)
    with store.warehouse.cursor() as cursor:
        runs = open_runs(cursor, store.settings.event_keys_path, project.id)
    assert find_seqs(runs, "visitor_key", gone).is_empty()
    assert len(find_seqs(runs, "visitor_key", pl.Series([hash64("stays")], dtype=pl.UInt64))) == 2


def test_files_go_with_old_events_and_with_their_project_and_are_in_no_backup(store: WorkingStore) -> None:
    project = store.add_project()
    store.add_experiment(project)
    write(store, project, an_event("pageview"))
    store.rollup.refresh(project.id)
    assert files(store, project) != []
    assert store.settings.event_keys_path not in copied_paths(store.settings)
    assert store.rollup.remove_old_events(project.id, NOW) == 1
    assert files(store, project) == []
    write(store, project, an_event("pageview"))
    store.rollup.refresh(project.id)
    assert files(store, project) != []
    store.catalog.projects.delete(project.account_id, project.id, actor="test")
    remove_deleted_projects(store)
    assert files(store, project) == []


def test_results_that_had_drifted_are_not_found_by_the_same_files_again(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project)
    write(store, project, an_exposure(experiment, 0, "v1"))
    store.rollup.refresh(project.id)
    with store.warehouse.transaction() as cursor:
        table = result_table("visitors", experiment.id)
        cursor.execute(f"UPDATE {table} SET variant = 1")  # noqa: S608 (named here)
    written = files(store, project)[0].stat().st_ino
    assert store.rollup.rebuild(project.id).drifted == (experiment.id,)
    assert [path.stat().st_ino for path in files(store, project)] != [written]
