from datetime import timedelta
from typing import Any

import pytest

from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import KeyReusedError, NotFoundError
from pipeline.store.catalog.runs.run_record import Run, RunResult
from pipeline.store.catalog.runs.run_repository import KEPT_FOR, MOST_ATTEMPTS, SCHEDULED_ROLLUPS_KEPT_FOR
from tests.builders import NOW, a_project


def a_run(project_id: str, **overrides: Any) -> Run:
    fields = {"kind": "rollup", "trigger": "api", "created_at": NOW, **overrides}
    return Run(project_id=project_id, **fields)


def test_a_run_is_read_as_it_was_saved(catalog: Catalog, project_id: str) -> None:
    run = catalog.runs.add(a_run(project_id, parameters={"days": {"from": "2026-03-01"}}))
    found = RunResult(events=2**40, visitors=3, drift=("exp_1",), result={"recounted": ["exp_1"]})
    ended = catalog.runs.save(run.started(now=NOW).finished(found, now=NOW + timedelta(seconds=2)))
    assert catalog.runs.get(project_id, run.id) == ended
    assert (ended.status, ended.attempts, ended.has_ended) == ("drift", 1, True)
    with pytest.raises(NotFoundError):
        catalog.runs.get("prj_other", run.id)


def test_the_same_key_gives_the_same_run_and_is_no_other_runs(catalog: Catalog, project_id: str) -> None:
    run = catalog.runs.add(a_run(project_id, run_key="night 1"))
    again = catalog.runs.add(a_run(project_id, run_key="night 1", created_at=NOW + timedelta(1)))
    assert again == run
    with pytest.raises(KeyReusedError, match=run.id):
        catalog.runs.add(a_run(project_id, run_key="night 1", kind="snapshot"))
    assert catalog.runs.page(project_id).total == 1


def test_runs_are_listed_newest_first_by_kind_and_status(catalog: Catalog, project_id: str) -> None:
    first, second, third = (
        catalog.runs.add(a_run(project_id, kind=kind, created_at=NOW + timedelta(seconds=number)))
        for number, kind in enumerate(("rollup", "snapshot", "rollup"))
    )
    catalog.runs.save(first.started(now=NOW))
    assert [run.id for run in catalog.runs.page(project_id).items] == [third.id, second.id, first.id]
    assert [run.id for run in catalog.runs.page(project_id, kind="rollup", per_page=1).items] == [third.id]
    assert [run.id for run in catalog.runs.page(project_id, status="running").items] == [first.id]
    assert catalog.runs.next_queued(project_id) == second
    assert catalog.runs.projects_with_queued() == [project_id]


def test_runs_that_a_process_left_are_queued_again_or_marked(catalog: Catalog, project_id: str) -> None:
    fields_of: dict[str, dict[str, Any]] = {
        "asked for": {},
        "of the schedule": {"trigger": "schedule", "kind": "rebuild"},
        "of a command": {"trigger": "command_line"},
        "ends the process": {"attempts": MOST_ATTEMPTS - 1},
    }
    left = {
        name: catalog.runs.save(catalog.runs.add(a_run(project_id, **fields)).started(now=NOW))
        for name, fields in fields_of.items()
    }
    catalog.runs.recover(now=NOW + timedelta(hours=1))
    found = {name: catalog.runs.get(project_id, run.id) for name, run in left.items()}
    assert {name for name, run in found.items() if run.status == "queued"} == {"asked for"}
    others = [run for name, run in found.items() if name != "asked for"]
    assert {(run.status, run.ended_at) for run in others} == {("interrupted", NOW + timedelta(hours=1))}


def test_old_runs_are_deleted_and_those_that_come_every_minute_sooner(
    catalog: Catalog, project_id: str
) -> None:
    def ended_before(age: timedelta, **overrides: Any) -> str:
        run = a_run(project_id, created_at=NOW - age, **overrides).started(now=NOW - age)
        return catalog.runs.add(run.finished(RunResult(), now=NOW - age)).id

    hour = timedelta(hours=1)
    every_minute = {"trigger": "schedule", "kind": "rollup"}
    old = ended_before(KEPT_FOR + hour), ended_before(SCHEDULED_ROLLUPS_KEPT_FOR + hour, **every_minute)
    kept = {
        ended_before(KEPT_FOR - hour),
        ended_before(SCHEDULED_ROLLUPS_KEPT_FOR - hour, **every_minute),
        catalog.runs.add(a_run(project_id, created_at=NOW - 2 * KEPT_FOR)).id,
    }
    assert catalog.runs.delete_old(now=NOW) == len(old)
    assert {run.id for run in catalog.runs.page(project_id).items} == kept


def test_a_new_run_deletes_the_old_ones_of_its_project(catalog: Catalog, project_id: str) -> None:
    account_id = catalog.projects.find(project_id).account_id
    other = a_project(id="prj_other", account_id=account_id, sdk_key="pk_other")
    other_id = catalog.projects.create(other, actor="test").id
    ended_at = NOW - KEPT_FOR
    for project, time in (
        (project_id, ended_at - timedelta(seconds=1)),
        (project_id, ended_at),
        (other_id, ended_at - KEPT_FOR),
    ):
        run = a_run(project, created_at=time).started(now=time)
        catalog.runs.add(run.finished(RunResult(), now=time))
    new = catalog.runs.add(a_run(project_id, created_at=NOW))
    kept = catalog.runs.page(project_id).items
    assert [(run.id == new.id, run.ended_at) for run in kept] == [(True, None), (False, ended_at)]
    assert catalog.runs.page(other_id).total == 1


def test_runs_are_deleted_with_their_project(catalog: Catalog, project_id: str) -> None:
    run = catalog.runs.add(a_run(project_id))
    account_id = catalog.projects.find(project_id).account_id
    catalog.projects.delete(account_id, project_id, actor="test")
    with pytest.raises(NotFoundError):
        catalog.runs.save(run.started(now=NOW))
    with pytest.raises(NotFoundError):
        catalog.runs.add(a_run(project_id))
