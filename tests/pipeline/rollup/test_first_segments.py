"""Segments that follow from the visitor's history."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from tests.builders import NOW, STARTED
from tests.pipeline.working_store import WorkingStore, an_event, an_exposure


def count(store: WorkingStore, experiment: Experiment, project: Project, **filters: str) -> int:
    return int(store.observe(experiment, project, filters).visitors.sum())


@pytest.mark.parametrize(("minutes", "kind"), [(29, "new"), (31, "returning")])
def test_a_visitor_seen_more_than_half_an_hour_before_returns(
    store: WorkingStore, project: Project, experiment: Experiment, minutes: int, kind: str
) -> None:
    store.write(project, an_exposure(experiment, minute=100, sender="browser"))
    assert count(store, experiment, project, visitor_type="new") == 1
    # It arrives late, when the visitor was counted as new.
    store.write(project, an_event("click", minute=100 - minutes, selector="#buy"))
    assert count(store, experiment, project, visitor_type=kind) == 1
    assert store.rollup.rebuild(project.id).drifted == ()


@pytest.mark.parametrize("sender", ["import", None])
def test_the_type_of_an_imported_visitor_is_unknown(
    store: WorkingStore, project: Project, experiment: Experiment, sender: str | None
) -> None:
    store.write(project, an_event("click", minute=1), an_exposure(experiment, minute=100, sender=sender))
    assert count(store, experiment, project) == 1
    assert count(store, experiment, project, visitor_type="new") == 0
    assert count(store, experiment, project, visitor_type="returning") == 0


def test_what_the_sender_says_wins(store: WorkingStore, project: Project, experiment: Experiment) -> None:
    stated = an_exposure(experiment, minute=100, sender="browser", visitor_type="new")
    store.write(project, an_event("click", minute=1), stated)
    assert count(store, experiment, project, visitor_type="new") == 1


def test_what_arrives_after_the_end_changes_no_segment(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, minute=100, sender="browser"))
    ended = STARTED + timedelta(minutes=200)
    experiment = store.change(experiment, status="completed", completed_at=ended)
    assert count(store, experiment, project, visitor_type="new") == 1
    late = an_event("click", minute=300)
    store.write(project, late._replace(occurred_at=late.occurred_at - 250 * 60_000_000))
    store.rollup.rebuild(project.id)

    # Days in another time zone are counted from the events again.
    def move(current: Project) -> Project:
        return replace(current, reporting_timezone="Asia/Tokyo")

    moved = store.catalog.projects.change(project.account_id, project.id, move, actor="test")
    store.rollup.refresh(project.id)
    assert count(store, experiment, moved, visitor_type="new") == 1
    assert experiment.completed_at is not None
    assert experiment.completed_at < NOW
