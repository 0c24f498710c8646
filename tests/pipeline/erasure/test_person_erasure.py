"""Erasure of a person from every file of a store, told by the bytes of uncompressed copies."""

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import polars as pl
import pytest

from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import AttributeUnit, Unit
from engine.errors import InvalidDesignError
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.project_cache import rule_of
from pipeline.events.hashing import hash64
from pipeline.store.warehouse import visitors
from tests.builders import NOW
from tests.pipeline.erasure.erased_persons import GONE, GONE_USER, STAYS, erase_visitor, fill
from tests.pipeline.uncompressed_copies import uncompressed
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def contents_of(folder: Path, copies: Path) -> dict[str, bytes]:
    """Read the files below a folder, by their paths in it, as they are before compression."""
    return {
        path.relative_to(folder).as_posix(): uncompressed(path, copies)
        for path in folder.rglob("*")
        if path.is_file()
    }


def files_with(contents: dict[str, bytes], name: str) -> set[str]:
    """List the files that have an id, or its key, in their bytes."""
    sought = (name.encode(), hash64(name).to_bytes(8, "little"))
    return {path for path, content in contents.items() if any(one in content for one in sought)}


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    folder = tmp_path / "copies"
    folder.mkdir()
    return folder


def test_no_file_of_the_store_has_the_person_and_all_have_another(tmp_path: Path, copies: Path) -> None:
    folder = tmp_path / "store"
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        known = FirstAssignments(store.warehouse, store.ingest, store.settings)
        rule = rule_of(experiment)
        assert rule is not None
        fill(store, project, experiment)
        store.rollup.refresh(project.id)
        # The second one keeps the files of the first.
        for _ in range(2):
            store.snapshots.write(project.id)
            store.write(project, a_purchase(GONE, minute=5), a_purchase(STAYS, minute=5))
        known.of_visitor(project.id, [rule], hash64(GONE))
        known.write()
        receipt = erase_visitor(store, project)
        counted = (receipt.visitor_ids, receipt.user_ids, receipt.events, receipt.snapshot_written)
        assert counted == (2, 1, 6, True)
        assert known.of_visitor(project.id, [rule], hash64(GONE)).variant_ids == {}
        assert known.of_visitor(project.id, [rule], hash64(STAYS)).variant_ids != {}
        # An event that comes afterwards is of a new visitor, and the spool has it.
        asyncio.run(store.ingest.submit(project.id, [an_event("pageview", STAYS, url="https://x.example/")]))
        spool = b"".join(path.read_bytes() for path in store.settings.spool_path.glob("*"))
        assert (GONE.encode() in spool, STAYS.encode() in spool) == (False, True)
        known.close()
    contents = contents_of(folder, copies)
    snapshot = {one for one in files_with(contents, STAYS) if one.startswith("snapshots/")}
    assert {path.rpartition("/")[0].rpartition("/")[2] for path in snapshot} >= {"events"}
    assert files_with(contents, STAYS) >= {"warehouse.duckdb", f"assignments/{project.id}.base.npz"}
    for name in (GONE, f"{GONE}-phone", GONE_USER, f"order of {GONE}", f"town of {GONE}"):
        assert files_with(contents, name) == set()


def test_an_erasure_is_in_the_audit_trail_without_the_person(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    fill(store, project, experiment)
    receipt = erase_visitor(store, project)
    (entry,) = store.catalog.audit.of(receipt.id)
    assert entry.account_id == project.account_id
    assert entry.changes["events"] == [None, 4]
    assert GONE not in str(entry)


def test_the_second_time_nothing_is_found_and_everything_is_in_order(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    fill(store, project, experiment)
    assert erase_visitor(store, project).events == 4
    assert erase_visitor(store, project).events == 0
    assert store.observe(experiment, project).visitors.tolist() == [1, 0]


def test_events_that_the_warehouse_refused_go_too(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    folder = store.settings.refused_events_path
    folder.mkdir()
    rows = [an_event("pageview", name)._asdict() for name in (GONE, STAYS)]
    for number, (project_id, kept) in enumerate(
        ((project.id, rows), (project.id, rows[:1]), ("prj_x", rows))
    ):
        content = {"project_id": project_id, "first_seq": number, "events": kept}
        (folder / f"{number}.json").write_bytes(msgspec.json.encode(content))
    erase_visitor(store, project)
    left = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(left) == {"0.json", "2.json"}
    assert (GONE in left["0.json"], STAYS in left["0.json"], GONE in left["2.json"]) == (False, True, True)


def test_a_row_of_a_file_without_ids_names_nobody(store: WorkingStore, project: Project) -> None:
    with pytest.raises(InvalidDesignError, match="names nobody"):
        erase_visitor(store, project, "row-00112233aabbccdd-17")


def test_a_project_without_events_has_nobody(store: WorkingStore, project: Project) -> None:
    receipt = erase_visitor(store, project)
    assert (receipt.events, receipt.visitor_ids, receipt.user_ids) == (0, 1, 0)
    assert re.fullmatch("ers_[0-9a-zA-Z]+", receipt.id)


def test_a_person_without_a_text_of_its_own_goes_from_the_snapshot_of_a_completed_test(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, 0, GONE), an_exposure(experiment, 1, STAYS))
    store.change(experiment, status="completed", completed_at=NOW - timedelta(minutes=5))
    store.rollup.refresh(project.id)
    store.snapshots.write(project.id)
    receipt = erase_visitor(store, project)
    assert (receipt.is_complete, receipt.sums_kept) == (True, (experiment.id,))


def test_a_snapshot_of_events_that_are_kept_no_longer_is_written_again(
    store: WorkingStore, project: Project
) -> None:
    store.write(project, an_event("pageview", GONE), an_event("pageview", STAYS))
    store.snapshots.write(project.id)
    assert store.rollup.remove_old_events(project.id, NOW + timedelta(days=1)) == 2
    for is_written in (True, False):
        receipt = erase_visitor(store, project)
        assert (receipt.events, receipt.is_complete, receipt.snapshot_written) == (0, True, is_written)


def test_copies_of_everybody_stay_until_somebody_is_found(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    fill(store, project, experiment)
    copies = [store.settings.data_dir / name for name in ("before-upgrade", "spool.damaged-20260301T000000Z")]
    for one in copies:
        one.mkdir()
    mistyped = erase_visitor(store, project, "ann-7d1")
    assert (mistyped.is_complete, [one.exists() for one in copies]) == (False, [True, True])
    assert sum(one.left for one in mistyped.read_back) == 2
    assert erase_visitor(store, project).is_complete
    assert [one.exists() for one in copies] == [False, False]


def test_events_that_wait_in_the_spool_are_erased(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    fill(store, project, experiment)
    # Nothing has been loaded or counted before.
    assert erase_visitor(store, project).events == 4


@pytest.fixture
def opened(store: WorkingStore) -> Iterator[FirstAssignments]:
    known = FirstAssignments(store.warehouse, store.ingest, store.settings)
    yield known
    known.close()


def test_the_index_forgets_a_person_before_and_after_it_is_sorted(
    store: WorkingStore, project: Project, experiment: Experiment, opened: FirstAssignments
) -> None:
    rule = rule_of(experiment)
    assert rule is not None
    opened.prepare(project.id, [rule]).result()
    for is_sorted in (False, True):
        fill(store, project, experiment)
        if is_sorted:
            opened.write()
        assert opened.of_visitor(project.id, [rule], hash64(f"{GONE}-phone")).variant_ids
        erase_visitor(store, project)
        for name, is_known in ((GONE, False), (f"{GONE}-phone", False), (STAYS, True)):
            assert bool(opened.of_visitor(project.id, [rule], hash64(name)).variant_ids) is is_known


def test_an_erasure_takes_turns_with_refreshes_and_new_events(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    fill(store, project, experiment)
    stopped = threading.Event()

    def refresh() -> None:
        while not stopped.is_set():
            store.write(project, an_event("pageview", STAYS))
            store.rollup.refresh(project.id)

    with ThreadPoolExecutor(1) as threads:
        refreshing = threads.submit(refresh)
        try:
            receipt = erase_visitor(store, project)
        finally:
            stopped.set()
        refreshing.result()
    assert (receipt.events, receipt.is_complete) == (4, True)
    assert store.observe(experiment, project).visitors.tolist() == [1, 0]
    assert store.rollup.rebuild(project.id).drifted == ()


@pytest.mark.parametrize("unit", ["user", AttributeUnit(attribute="account")])
def test_a_unit_of_erased_persons_alone_is_a_hash_of_no_id(
    store: WorkingStore, project: Project, unit: Unit
) -> None:
    experiment = store.add_experiment(project, unit=unit)
    rows = [
        an_exposure(
            experiment,
            number % 2,
            f"v{number}",
            user_id=f"u{number}",
            sender="server",
            custom=account_of(number),
        )
        for number in range(6)
    ]
    shown = an_exposure(experiment, 0, GONE, user_id=GONE_USER, sender="server", custom=account_of(99))
    store.write(project, shown, a_purchase(GONE, user_id=GONE_USER), *rows)
    ended = store.change(experiment, status="completed", completed_at=NOW - timedelta(minutes=5))
    store.rollup.refresh(project.id)
    keys = pl.Series([hash64(one) for one in (GONE, GONE_USER, "firm 99")], dtype=pl.UInt64)
    before = store.results.report(ended, project, now=NOW)
    with store.warehouse.cursor() as cursor:
        assert visitors.count_rows_of(cursor, experiment.id, keys) > 0
        assert visitors.count_rows_of(cursor, experiment.id, keys[1:]) > 0
    assert erase_visitor(store, project).is_complete
    with store.warehouse.cursor() as cursor:
        assert visitors.count_rows_of(cursor, experiment.id, keys) == 0
    assert store.results.report(ended, project, now=NOW).goals == before.goals


def account_of(number: int) -> str:
    return f'{{"account":"firm {number}"}}'


def test_a_report_that_began_before_the_erasure_keeps_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        fill(store, project, experiment)
        verdicts, find = store.results.verdicts, store.catalog.kept_verdicts.find
        keep, overtaken = verdicts.keep, list[Experiment]()

        def keep_after_an_erasure(report: Report, *, now: datetime, erasures: int) -> None:
            if not overtaken:
                overtaken.append(experiment)
                erase_visitor(store, project)
            keep(report, now=now, erasures=erasures)

        monkeypatch.setattr(verdicts, "keep", keep_after_an_erasure)
        store.results.report(experiment, project, now=store.clock())
        assert overtaken
        assert find(experiment.id) is None
        store.results.report(experiment, project, now=store.clock())
        assert find(experiment.id) is not None
