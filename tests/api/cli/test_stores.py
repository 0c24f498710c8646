"""The project that a command works on: named, the only one, or a new one."""

from pathlib import Path

import pytest

from api.cli.console import CommandError
from api.cli.stores import new_project, opened_catalog, opened_store, target_project
from tests.api.cli.conftest import Run

OF_ACCOUNT = ("--account", "acc_1")
EVENTS = Path(__file__).parents[3] / "data" / "sample" / "visitors.csv"
NEEDS_A_STORE = (
    ("serve", "--port", "0"),
    ("import",),
    ("import", EVENTS),
    ("check",),
    ("backup", "copy"),
    ("open", "--no-browser"),
    ("export", "exp_1", "--out", "rows.csv"),
    ("rollup",),
    ("runs",),
    ("snapshot",),
    ("members", "add", *OF_ACCOUNT, "--email", "a@shop.example", "--name", "Ann"),
    ("members", "list", *OF_ACCOUNT),
    ("members", "remove", *OF_ACCOUNT, "--member", "mem_1"),
    ("keys", "list", *OF_ACCOUNT),
    ("keys", "revoke", *OF_ACCOUNT, "--key", "key_1"),
    ("keys", "create", *OF_ACCOUNT, "--member", "mem_1", "--name", "CI", "--scopes", "results:read"),
    ("account", "update", *OF_ACCOUNT, "--plan", "growth"),
)


def test_a_catalog_is_created_and_closed(tmp_path: Path) -> None:
    with opened_catalog(tmp_path / "new") as catalog:
        account, _, _ = catalog.accounts.create("Shop", "a@shop.example")
    with opened_catalog(tmp_path / "new") as catalog:
        assert [found.id for found in catalog.accounts.all()] == [account.id]


# On PostgreSQL the catalog is elsewhere, whatever the folder.
@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("command", NEEDS_A_STORE)
def test_a_folder_without_a_store_is_named_and_nothing_is_created(
    run: Run, tmp_path: Path, command: tuple[str | Path, ...]
) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "nowhere", tmp_path / "empty"):
        refused = run(*command, "--data-dir", folder)
        assert (refused.status, refused.out) == (1, "")
        assert "there is no store in" in refused.err
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_store_without_an_account_has_no_project(tmp_path: Path) -> None:
    with opened_store(tmp_path) as store, pytest.raises(CommandError, match="run `truelift init` first"):
        target_project(store.catalog, None, name_of_new="Visits")


def test_the_only_account_gets_a_project_once(tmp_path: Path) -> None:
    with opened_store(tmp_path) as store:
        store.catalog.accounts.create("Shop", "a@shop.example")
        project = target_project(store.catalog, None, name_of_new="Visits")
        assert project.name == "Visits"
        assert target_project(store.catalog, None, name_of_new="Others").id == project.id


def test_of_several_accounts_the_one_of_a_new_project_has_to_be_named(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("type,visitor_id,timestamp\npageview,v1,2026-03-01T10:00:00Z\n")
    made = [
        run("init", "--data-dir", tmp_path, "--account", "Shop", "--email", "a@shop.example", "--json").json
        for _ in range(2)
    ]
    ids = [one["account_id"] for one in made]
    refused = run("import", file, "--data-dir", tmp_path)
    sentence = "this store has several accounts; name one with --account: "
    assert sentence in refused.err
    assert all(f"{account} (Shop)" in refused.err for account in ids)
    first, second = (run("import", file, "--data-dir", tmp_path, "--account", one, "--json") for one in ids)
    assert (first.status, second.status) == (0, 0)
    assert first.json["project_id"] != second.json["project_id"]
    again = run("import", file, "--data-dir", tmp_path, "--account", ids[0], "--json").json
    assert (again["project_id"], again["events"]["new"]) == (first.json["project_id"], 0)
    unknown = run("import", file, "--data-dir", tmp_path, "--account", "acc_other")
    assert "there is no account 'acc_other'" in unknown.err


def test_one_of_several_projects_has_to_be_named(tmp_path: Path) -> None:
    with opened_store(tmp_path) as store:
        account, _, _ = store.catalog.accounts.create("Shop", "a@shop.example", "scale")
        one, two = (
            new_project(store.catalog, account.id, {"name": name, "url": "https://shop.example"})
            for name in ("One", "Two")
        )
        with pytest.raises(CommandError, match="several projects") as refused:
            target_project(store.catalog, None, name_of_new="Visits")
        assert f"{one.id} (One)" in str(refused.value)
        assert target_project(store.catalog, two.id, name_of_new="Visits").name == "Two"
