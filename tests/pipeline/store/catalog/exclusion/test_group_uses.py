"""Slots given to experiments at their start, in one transaction each."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.design import lifecycle
from engine.design.exclusion.slot_taking import slots_of
from engine.design.experiment import Experiment
from engine.errors import TransitionError
from pipeline.jobs.lifecycle import start_scheduled
from pipeline.store.catalog.catalog import Catalog
from tests.builders import NOW, STARTED
from tests.pipeline.store.catalog.exclusion.test_group_repository import a_draft, saved, started

OVER = {"scheduled_start_at": STARTED, "scheduled_end_at": NOW, "status": "scheduled"}


def test_starts_at_once_never_take_a_slot_twice(catalog: Catalog, project_id: str) -> None:
    group = saved(catalog, project_id)
    drafts = [a_draft(catalog, group, 40) for _ in range(4)]

    def start(draft: Experiment) -> bool:
        try:
            started(catalog, draft)
        except TransitionError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(start, drafts)) == [False, False, True, True]
    use = catalog.exclusion_groups.find(project_id, group.id)
    assert use.free_percent == 20
    first, second = (slots_of(one) for one in use.holders)
    assert first != second


def test_a_start_without_slots_changes_nothing_and_works_once_they_are_free(
    catalog: Catalog, project_id: str
) -> None:
    group = saved(catalog, project_id)
    first, second = a_draft(catalog, group, 60), a_draft(catalog, group, 60)
    started(catalog, first)
    with pytest.raises(TransitionError):
        started(catalog, second)
    assert catalog.experiments.get(project_id, second.id) == second
    catalog.experiments.change(
        project_id, first.id, lambda one: lifecycle.complete(one, now=NOW), actor="ada"
    )
    assert [one.first for one in slots_of(started(catalog, second))] == [0]


def test_a_scheduled_start_waits_for_slots_and_a_missed_one_takes_none(
    catalog: Catalog, project_id: str
) -> None:
    group = saved(catalog, project_id)
    first = started(catalog, a_draft(catalog, group, 100))
    due = a_draft(catalog, group, 10, status="scheduled", scheduled_start_at=STARTED)
    missed = a_draft(catalog, group, 10, **OVER)
    with pytest.raises(ExceptionGroup) as failed:
        start_scheduled(catalog, now=NOW)
    assert "is not ready to start" in str(failed.value.exceptions[0])
    assert catalog.experiments.get(project_id, due.id) == due
    ended = catalog.experiments.get(project_id, missed.id)
    assert (ended.status, ended.group_slots) == ("completed", None)
    catalog.experiments.change(
        project_id, first.id, lambda one: lifecycle.complete(one, now=NOW), actor="ada"
    )
    start_scheduled(catalog, now=NOW)
    assert slots_of(catalog.experiments.get(project_id, due.id)) != ()
