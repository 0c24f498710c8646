"""The project that a command works on: named, the only one, or a new one."""

from pathlib import Path

import pytest

from api.cli.console import CommandError
from api.cli.stores import new_project, opened_catalog, opened_store, target_project


def test_a_catalog_is_created_and_closed(tmp_path: Path) -> None:
    with opened_catalog(tmp_path / "new") as catalog:
        account, _, _ = catalog.accounts.create("Shop", "a@shop.example")
    with opened_catalog(tmp_path / "new") as catalog:
        assert [found.id for found in catalog.accounts.all()] == [account.id]


def test_a_store_without_an_account_has_no_project(tmp_path: Path) -> None:
    with opened_store(tmp_path) as store, pytest.raises(CommandError, match="run `truelift init` first"):
        target_project(store, None, name_of_new="Visits")


def test_the_only_account_gets_a_project_once(tmp_path: Path) -> None:
    with opened_store(tmp_path) as store:
        store.catalog.accounts.create("Shop", "a@shop.example")
        project = target_project(store, None, name_of_new="Visits")
        assert project.name == "Visits"
        assert target_project(store, None, name_of_new="Others").id == project.id


def test_one_of_several_projects_has_to_be_named(tmp_path: Path) -> None:
    with opened_store(tmp_path) as store:
        account, _, _ = store.catalog.accounts.create("Shop", "a@shop.example", "scale")
        one, two = (
            new_project(store, account.id, {"name": name, "url": "https://shop.example"})
            for name in ("One", "Two")
        )
        with pytest.raises(CommandError, match="several projects") as refused:
            target_project(store, None, name_of_new="Visits")
        assert f"{one.id} (One)" in str(refused.value)
        assert target_project(store, two.id, name_of_new="Visits").name == "Two"
