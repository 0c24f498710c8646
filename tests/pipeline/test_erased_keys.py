"""Erased persons stay away: imports of the same rows, and restored backups, do not bring them back."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.design.project import Project
from pipeline.backup.restoring import restore_backup
from pipeline.backup.writing import write_backup
from pipeline.clock import utc_now
from pipeline.erased_keys import FOLDER, ErasedKeys
from pipeline.erasure.person_erasure import Receipt, erase, erase_again
from pipeline.events.hashing import hash64
from pipeline.imports import event_import
from pipeline.imports.event_import import import_events
from pipeline.rollup import run
from pipeline.rollup.erasing import look_for_person
from pipeline.settings import Settings
from pipeline.sources.locations import find_tables
from pipeline.store.warehouse.imports.stored_rows import find_stored_events
from tests.pipeline.imports.visitor_files import Row, import_files, write_rows
from tests.pipeline.working_store import WorkingStore, a_working_store

HEADER = "event_id,type,visitor_id,user_id,url,timestamp\n"
ANN = "ann-7d1f"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path / "store", clock=utc_now) as opened:
        yield opened


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


def erase_ann(store: WorkingStore, project: Project) -> Receipt:
    return erase(store, project, ANN, id_type="visitor", actor="test")


def import_rows(store: WorkingStore, project: Project, path: Path, *rows: str) -> tuple[int, int]:
    """Import events; return the numbers of new rows and of those left out."""
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    found = import_events(find_tables([str(path)]), project, store=store)
    return found.rows, found.left_out


def test_the_same_file_of_events_does_not_bring_a_person_back(
    store: WorkingStore, project: Project, tmp_path: Path
) -> None:
    rows = (
        f"e1,pageview,{ANN},ann@x.example,https://x.example/,2026-03-01T00:00:00Z",
        # Without an id and a time, and of another device of the same user.
        f",pageview,{ANN},,https://x.example/a,",
        ",identify,ann-phone,ann@x.example,,2026-03-01T00:00:00Z",
        "e3,pageview,bob,,https://x.example/,2026-03-01T00:00:00Z",
    )
    path = tmp_path / "events.csv"
    assert import_rows(store, project, path, *rows) == (4, 0)
    receipt = erase_ann(store, project)
    assert (receipt.events, receipt.visitor_ids, receipt.user_ids, receipt.is_complete) == (3, 2, 1, True)
    assert import_rows(store, project, path, *rows) == (0, 3)
    # A device that was never seen, of the same user.
    assert import_rows(store, project, path, ",identify,ann-new,ann@x.example,,2026-03-01T00:00:00Z") == (
        0,
        1,
    )
    # The person returns: such rows are of a new visitor.
    later = utc_now() + timedelta(days=30)
    assert import_rows(store, project, path, f"e9,pageview,{ANN},,https://x.example/,{later}") == (1, 0)


@pytest.mark.parametrize("with_times", [True, False])
def test_the_same_file_of_visitors_does_not_bring_a_person_back(
    store: WorkingStore, project: Project, tmp_path: Path, *, with_times: bool
) -> None:
    rows = [Row(ANN, "A", 1, 1, 9.5), Row("bob", "A", 1, 0, 0), Row("cy", "B", 1, 1, 3)]
    path = write_rows(tmp_path / "visitors.csv", rows)
    columns: dict[str, Any] = {} if with_times else {"timestamp": None}
    assert import_files(store, project, path, **columns).rows == 3
    assert erase_ann(store, project).events == 3
    again = import_files(store, project, path, **columns)
    assert (again.rows, again.known_rows, again.left_out) == (0, 2, 1)
    assert again.numbers["rows"]["left_out"] == 1


def test_the_list_tells_nothing_without_the_key_and_goes_with_the_project(
    store: WorkingStore, project: Project, tmp_path: Path
) -> None:
    erase_ann(store, project)
    (path,) = (store.settings.data_dir / FOLDER).iterdir()
    content = path.read_text()
    key = hash64(ANN)
    assert all(one not in content for one in (ANN, str(key), f"{key:x}"))
    keys, other = ErasedKeys(store.settings), ErasedKeys(Settings(data_dir=tmp_path / "other"))
    assert set(keys.of(project.id)) == {keys.hash(project.id, "visitor", key)}
    assert other.hash(project.id, "visitor", key) not in content
    # Of many keys, among them all that share the first digits, one is found.
    many = pl.Series([*range(200_000), key], dtype=pl.UInt64)
    assert keys.erased_at(project.id, "visitor", many).is_not_null().arg_true().to_list() == [200_000]
    assert keys.erased_at(project.id, "user", pl.Series([key], dtype=pl.UInt64)).to_list() == [None]
    store.ingest.forget(project.id)
    assert not path.exists()


def test_a_restored_backup_erases_once_more_who_was_erased_since(tmp_path: Path) -> None:
    path, rows = tmp_path / "visitors.csv", [Row(f"v{one}", "AB"[one % 2], 1, 1, 1) for one in range(6)]
    with a_working_store(tmp_path / "store", clock=utc_now) as store:
        project = store.add_project()
        import_files(store, project, write_rows(path, [Row(ANN, "A", 1, 1, 1), *rows]))
        erase(store, project, "v0", id_type="visitor", actor="test")
        write_backup(store, tmp_path / "backup", with_snapshots=False)
        erase_ann(store, project)
    settings = Settings(data_dir=tmp_path / "restored")
    manifest = restore_backup(tmp_path / "backup", settings, erasures=tmp_path / "store")
    with a_working_store(tmp_path / "restored", clock=utc_now) as store:
        assert erase_again(store, since=manifest.taken_at, actor="test") == 1
        with store.warehouse.cursor() as cursor:
            ids = cursor.execute(f'SELECT DISTINCT visitor_id FROM "events_{project.id}"').fetchall()  # noqa: S608 (an id of our own)
        assert {one for (one,) in ids} == {f"v{one}" for one in range(1, 6)}
        assert import_files(store, project, path).left_out == 2


def test_an_import_under_way_does_not_bring_a_person_back(
    store: WorkingStore, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = f"e{{}},pageview,{ANN},,https://x.example/,2026-03-01T00:00:00Z"
    import_rows(store, project, tmp_path / "first.csv", row.format(1))
    has_looked = threading.Event()

    def looked(*arguments: Any) -> Any:
        found = look_for_person(*arguments)
        has_looked.set()
        return found

    with ThreadPoolExecutor(1) as threads, monkeypatch.context() as patched:
        patched.setattr(run, "look_for_person", looked)
        erasing: list[Future[Receipt]] = []

        def choose_meanwhile(*arguments: Any) -> Any:
            erasing.append(threads.submit(erase_ann, store, project))
            assert has_looked.wait(60)
            return find_stored_events(*arguments)

        patched.setattr(event_import, "find_stored_events", choose_meanwhile)
        assert import_rows(store, project, tmp_path / "second.csv", row.format(2)) == (1, 0)
        assert erasing[0].result().events == 2
