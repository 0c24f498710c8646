from functools import partial

import pytest

from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.experiment_changes import UNREAD, ExperimentChanges
from pipeline.store.catalog.ids import new_id
from tests.builders import an_experiment


def add(catalog: Catalog, project_id: str) -> str:
    id_ = new_id("exp")
    added = an_experiment(id=id_, project_id=project_id, test_key=id_.replace("_", "-"))
    return catalog.experiments.create(project_id, lambda _: added, actor="test").id


def written(changes: ExperimentChanges) -> set[str]:
    return {one.outline.id for one in changes.written}


def test_only_what_was_written_since_a_version_is_read(catalog: Catalog, project_id: str) -> None:
    ids = {add(catalog, project_id) for _ in range(3)}
    first = catalog.experiments.changes(project_id, UNREAD, frozenset())
    assert written(first) == ids
    assert catalog.experiments.changes(project_id, first.version, ids) == ExperimentChanges(first.version)
    changed = min(ids)
    catalog.experiments.change(project_id, changed, lambda one: one, actor="test")
    assert written(catalog.experiments.changes(project_id, first.version, ids)) == {changed}


def test_deleted_ones_are_named_also_beside_a_new_one(catalog: Catalog, project_id: str) -> None:
    ids = {add(catalog, project_id) for _ in range(3)}
    version = catalog.experiments.changes(project_id, UNREAD, frozenset()).version
    deleted = max(ids)
    catalog.experiments.delete(project_id, deleted, lambda _: None, actor="test")
    added = add(catalog, project_id)
    changes = catalog.experiments.changes(project_id, version, ids)
    assert (written(changes), changes.deleted) == ({added}, {deleted})


def test_a_write_that_fails_is_no_version(catalog: Catalog, project_id: str) -> None:
    id_ = add(catalog, project_id)
    read = partial(catalog.experiments.changes, project_id, UNREAD, frozenset())
    version = read().version

    def refuse(_: object) -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        catalog.experiments.delete(project_id, id_, refuse, actor="test")
    assert read().version == version


def test_an_unknown_project_is_not_found(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError):
        catalog.experiments.changes("prj_9", UNREAD, frozenset())
