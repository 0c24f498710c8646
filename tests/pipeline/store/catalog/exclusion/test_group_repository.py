"""Exclusion groups in the catalog: unique names, audited changes, and no group without its slots."""

from dataclasses import replace
from typing import Any

import pytest

from engine.design import lifecycle
from engine.design.exclusion.exclusion_group import ExclusionGroup
from engine.design.exclusion.group_slots import GroupShare
from engine.design.experiment import Experiment
from engine.errors import InvalidDesignError
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import GroupInUseError, NotFoundError
from pipeline.store.catalog.exclusion import group_repository
from pipeline.store.catalog.ids import new_id
from tests.builders import NOW, a_group, an_experiment


def saved(catalog: Catalog, project_id: str, name: str = "Checkout") -> ExclusionGroup:
    group = a_group(id=new_id("grp"), project_id=project_id, name=name)
    return catalog.exclusion_groups.create(group, actor="test").group


def a_draft(catalog: Catalog, group: ExclusionGroup, percent: int, **fields: Any) -> Experiment:
    test_key = new_id("exp")
    draft = an_experiment(
        id=test_key,
        project_id=group.project_id,
        name=test_key,
        test_key=test_key.replace("_", "-"),
        group=GroupShare(id=group.id, percent=percent),
        **fields,
    )
    return catalog.experiments.create(group.project_id, lambda _: draft, actor="test")


def started(catalog: Catalog, draft: Experiment) -> Experiment:
    return catalog.experiments.change(
        draft.project_id, draft.id, lambda one: lifecycle.start(one, now=NOW), actor="ada"
    )


def test_a_group_is_read_with_the_experiments_that_have_slots(catalog: Catalog, project_id: str) -> None:
    group, other = saved(catalog, project_id), saved(catalog, project_id, "Cart")
    first = started(catalog, a_draft(catalog, group, 30))
    a_draft(catalog, group, 70)
    assert catalog.exclusion_groups.find(project_id, group.id).holders == [first]
    found = catalog.exclusion_groups.of_project(project_id)
    assert {one.group.id: (one.free_percent, one.holders) for one in found} == {
        group.id: (70, [first]),
        other.id: (100, []),
    }
    assert catalog.exclusion_groups.ids(project_id) == {group.id, other.id}
    with pytest.raises(NotFoundError):
        catalog.exclusion_groups.find("prj_other", group.id)


def test_names_are_unique_and_groups_are_bounded(
    catalog: Catalog, project_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(catalog, project_id)
    other = saved(catalog, project_id, "Cart")
    with pytest.raises(InvalidDesignError, match="'Checkout' is another group's"):
        saved(catalog, project_id)
    with pytest.raises(InvalidDesignError, match="'Checkout' is another group's"):
        catalog.exclusion_groups.change(
            project_id, other.id, lambda found: replace(found, name="Checkout"), actor="test"
        )
    monkeypatch.setattr(group_repository, "MOST_GROUPS", 2)
    with pytest.raises(InvalidDesignError, match="2 groups"):
        saved(catalog, project_id, "Home")


def test_a_group_is_deleted_once_no_experiment_has_slots(catalog: Catalog, project_id: str) -> None:
    group = saved(catalog, project_id)
    draft = a_draft(catalog, group, 30)
    started(catalog, draft)
    with pytest.raises(GroupInUseError, match="has slots that experiments have taken"):
        catalog.exclusion_groups.delete(project_id, group.id, actor="ada")
    catalog.experiments.change(
        project_id, draft.id, lambda one: lifecycle.complete(one, now=NOW), actor="ada"
    )
    catalog.exclusion_groups.delete(project_id, group.id, actor="ada")
    assert catalog.exclusion_groups.of_project(project_id) == []
    assert [one.actor for one in catalog.audit.of(group.id)] == ["test", "ada"]
