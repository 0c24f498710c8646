from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from engine.design.exclusion.exclusion_group import draft_group
from engine.design.experiment import Experiment
from engine.design.holdout import deletable_holdout, revise_holdout
from engine.errors import InvalidDesignError, TransitionError
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import GroupInUseError, NotFoundError
from pipeline.store.catalog.experiment_listings import Wanted
from pipeline.store.catalog.ids import new_id
from tests.builders import NOW
from tests.engine.design.test_holdout import a_holdout


def made(catalog: Catalog, project_id: str, **overrides: Any) -> Experiment:
    id_ = new_id("hld")
    own = {"id": id_, "project_id": project_id, "test_key": id_.replace("_", "-"), "salt": id_}
    holdout = replace(a_holdout(), **{**own, **overrides})
    return catalog.holdouts.create(project_id, lambda _: holdout, actor="test")


end = partial(revise_holdout, fields={"to": NOW.isoformat()}, now=NOW)


def test_project_has_one_active_holdout(catalog: Catalog, project_id: str) -> None:
    first = made(catalog, project_id)
    with pytest.raises(TransitionError, match="end it first"):
        made(catalog, project_id, created_at=NOW)
    catalog.holdouts.change(project_id, first.id, end, actor="test")
    second = made(catalog, project_id)
    found = catalog.holdouts.page(project_id)
    assert {one.id for one in found.items} == {first.id, second.id}
    assert catalog.holdouts.get(project_id, first.id).status == "completed"


def test_holdout_is_no_test_of_its_project(catalog: Catalog, project_id: str) -> None:
    holdout, experiments = made(catalog, project_id), catalog.experiments
    with pytest.raises(NotFoundError):
        experiments.get(project_id, holdout.id)
    with pytest.raises(NotFoundError):
        experiments.change(project_id, holdout.id, lambda one: one, actor="test")
    with pytest.raises(NotFoundError):
        experiments.delete(project_id, holdout.id, lambda _: None, actor="test")
    assert experiments.of_project(project_id) == experiments.with_ids(project_id, [holdout.id]) == []
    assert experiments.running_counts([project_id]) == {project_id: 0}
    assert experiments.numbers(project_id)[1:] == (0, 0)
    wanted = Wanted(project_ids=[project_id], statuses=["running"])
    assert catalog.experiment_listings.experiments(wanted).items == []
    # What counts and erases finds it.
    assert experiments.of_project(project_id, with_holdouts=True) == [holdout]
    assert experiments.started_ids(project_id) == [holdout.id]
    assert holdout.id in experiments.ids()


def test_writes_of_a_holdout_are_audited_and_give_a_version(catalog: Catalog, project_id: str) -> None:
    before = catalog.experiments.numbers(project_id).version
    holdout = made(catalog, project_id)
    catalog.holdouts.change(project_id, holdout.id, end, actor="test")
    catalog.holdouts.delete(project_id, holdout.id, deletable_holdout, actor="test")
    assert catalog.experiments.numbers(project_id).version == before + 3
    entries = [entry.changes for entry in catalog.audit.of(holdout.id)]
    assert [entry["status"] for entry in entries] == [
        [None, "running"],
        ["running", "completed"],
        ["completed", None],
    ]
    with pytest.raises(NotFoundError):
        catalog.holdouts.get(project_id, holdout.id)


def test_holdout_in_force_stays(catalog: Catalog, project_id: str) -> None:
    holdout = made(catalog, project_id)
    with pytest.raises(TransitionError, match="in force"):
        catalog.holdouts.delete(project_id, holdout.id, deletable_holdout, actor="test")
    assert catalog.holdouts.get(project_id, holdout.id) == holdout


def test_project_and_each_group_have_one_holdout_that_keeps_the_group(
    catalog: Catalog, project_id: str
) -> None:
    groups = catalog.exclusion_groups
    for name in ("grp_a", "grp_b"):
        group = draft_group({"name": name}, id=f"{project_id}_{name}", project_id=project_id, now=NOW)
        groups.create(group, actor="test")
    first, second = sorted(groups.ids(project_id))
    later: Any = {"scheduled_start_at": NOW}
    made(catalog, project_id)
    of_first = made(catalog, project_id, held_group_id=first)
    made(catalog, project_id, held_group_id=second, status="scheduled", started_at=None, **later)
    with pytest.raises(TransitionError, match="the group has the holdout"):
        made(catalog, project_id, held_group_id=first)
    with pytest.raises(InvalidDesignError, match="no group of the project has the id"):
        made(catalog, project_id, held_group_id="grp_unknown")
    for one in (first, second):
        with pytest.raises(GroupInUseError, match="end it first"):
            groups.delete(project_id, one, actor="test")
    catalog.holdouts.change(project_id, of_first.id, end, actor="test")
    groups.delete(project_id, first, actor="test")
    assert groups.ids(project_id) == {second}
    assert catalog.holdouts.get(project_id, of_first.id).held_group_id == first
