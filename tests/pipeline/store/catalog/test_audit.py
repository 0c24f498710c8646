from pipeline.store.catalog.audit import changes_between
from pipeline.store.catalog.catalog import Catalog
from tests.builders import a_project


def test_changes_are_the_fields_that_differ() -> None:
    before, after = {"name": "A", "plan": "starter"}, {"name": "B", "plan": "starter", "slug": "b"}
    assert changes_between(before, after) == {"name": ["A", "B"], "slug": [None, "b"]}
    assert changes_between({}, {"name": "A"}) == {"name": [None, "A"]}


def test_every_write_has_an_entry_oldest_first(catalog: Catalog) -> None:
    account, *_ = catalog.accounts.create("Acme", "owner@acme.example", actor="operator")
    catalog.accounts.update(account.id, plan="scale", actor="support")
    created, updated = catalog.audit.of(account.id)
    assert (created.actor, created.changes["name"]) == ("operator", [None, "Acme"])
    assert (updated.actor, updated.changes) == ("support", {"plan": ["starter", "scale"]})


def test_a_deletion_is_recorded_for_good(catalog: Catalog) -> None:
    account, *_ = catalog.accounts.create("Acme", "owner@acme.example")
    project = catalog.projects.create(a_project(account_id=account.id), actor="test")
    assert not catalog.audit.was_deleted(project.id)
    catalog.projects.delete(account.id, project.id, actor="test")
    assert catalog.audit.was_deleted(project.id)
    assert not catalog.audit.was_deleted("prj_unknown")
