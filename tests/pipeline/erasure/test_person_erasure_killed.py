"""Erasures that fail, or are killed, are ended by the next run, with one audit entry."""

from dataclasses import replace
from typing import Any

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.erasure import person_erasure
from pipeline.erasure.holders import HOLDERS
from pipeline.erasure.person_erasure import end_begun_erasures
from pipeline.snapshots.writer import Snapshots
from tests.builders import NOW
from tests.pipeline.erasure.erased_persons import erase_visitor, fill
from tests.pipeline.working_store import WorkingStore, an_exposure


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def test_an_erasure_that_failed_is_completed_the_next_time(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fail_at_snapshot(store, project, experiment, monkeypatch)
    assert snapshot_bytes(store) == before
    assert erase_visitor(store, project).snapshot_written
    assert snapshot_bytes(store) != before


def fail_at_snapshot(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> list[bytes]:
    """Begin an erasure that cannot write the snapshot; return the snapshot before."""
    fill(store, project, experiment)
    store.snapshots.write(project.id)
    before = snapshot_bytes(store)
    with monkeypatch.context() as patched:
        patched.setattr(Snapshots, "write", fail)
        with pytest.raises(OSError, match="no room"):
            erase_visitor(store, project)
    return before


def fail(*_: Any, **__: Any) -> None:
    raise OSError("no room")


def snapshot_bytes(store: WorkingStore) -> list[bytes]:
    return [path.read_bytes() for path in sorted(store.settings.snapshots_path.rglob("*.parquet"))]


STEPS = [one.name for one in HOLDERS if one.erase is not None]


@pytest.mark.parametrize(
    "steps",
    [pytest.param(STEPS[::3], id="some"), pytest.param(STEPS, id="all", marks=pytest.mark.long(seconds=6))],
)
def test_an_erasure_that_is_killed_at_any_step_is_ended_by_the_next_run(
    store: WorkingStore,
    project: Project,
    experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[str],
) -> None:
    rows = [an_exposure(experiment, 0, step, custom=f'{{"mail":"{step}"}}') for step in steps]
    store.write(project, *rows)
    store.snapshots.write(project.id)
    store.rollup.refresh(project.id)
    store.nights.keep([experiment], project, [NOW.date()], run_id="run_1", now=NOW)
    assert len(STEPS) > 5
    for step in steps:
        broken = [replace(one, erase=fail) if one.name == step else one for one in HOLDERS]
        with monkeypatch.context() as patched:
            patched.setattr(person_erasure, "HOLDERS", tuple(broken))
            with pytest.raises(OSError, match="no room"):
                erase_visitor(store, project, step)
        receipt = erase_visitor(store, project, step)
        # As it was when it began.
        assert (receipt.events, receipt.is_complete, receipt.recounted) == (1, True, (experiment.id,))
    assert store.observe(experiment, project).visitors.tolist() == [0, 0]


def test_an_erasure_that_is_killed_is_ended_by_the_service(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fail_at_snapshot(store, project, experiment, monkeypatch)
    assert audited(store, project) == []
    end_begun_erasures(store)
    after = snapshot_bytes(store)
    assert after != before
    # As who asked for it would have left it.
    assert audited(store, project) == [("test", [None, 4])]
    # Nothing is left to be ended.
    end_begun_erasures(store)
    assert snapshot_bytes(store) == after
    assert len(audited(store, project)) == 1


def test_an_erasure_that_is_killed_after_its_audit_entry_has_no_second_one(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, project, experiment)
    with monkeypatch.context() as patched:
        patched.setattr(person_erasure, "forget_pending", fail)
        with pytest.raises(OSError, match="no room"):
            erase_visitor(store, project)
    end_begun_erasures(store)
    assert audited(store, project) == [("test", [None, 4])]


def test_an_erasure_that_an_earlier_version_began_gets_its_audit_entry(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        # That version noted neither the receipt nor the actor.
        patched.setattr(person_erasure, "replace", lambda erased, **_: erased)
        fail_at_snapshot(store, project, experiment, monkeypatch)
    end_begun_erasures(store)
    assert audited(store, project) == [("interrupted erasure", [None, 4])]


def audited(store: WorkingStore, project: Project) -> list[tuple[str, Any]]:
    entries = store.catalog.audit.page(project.account_id).items
    return [(one.actor, one.changes["events"]) for one in entries if one.subject_id.startswith("ers_")]
