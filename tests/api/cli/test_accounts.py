"""Commands for accounts, members and keys."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.cli.stores import opened_store
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.keys import SCOPES, ApiKey
from tests.api.cli.conftest import Run


def key_of(folder: Path, token: str) -> ApiKey | None:
    catalog = Catalog.open(Settings(data_dir=folder))
    try:
        found = catalog.keys.find_by_token(token, now=datetime.now(UTC))
        return found if isinstance(found, ApiKey) else None
    finally:
        catalog.close()


def test_init_gives_an_owner_a_key_with_every_scope(tmp_path: Path, account: dict[str, str]) -> None:
    assert set(account) == {"account_id", "member_id", "token"}
    key = key_of(tmp_path, account["token"])
    assert key is not None
    assert (key.account_id, set(key.scopes), key.project_ids) == (account["account_id"], set(SCOPES), ())


def test_init_makes_the_folder_wherever_the_catalog_is(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "new" / "store"
    assert run("init", "--data-dir", store, "--account", "Shop", "--email", "a@shop.example").status == 0
    assert store.is_dir()
    assert run("check", "--data-dir", store).status == 0


def test_init_with_a_currency_creates_a_first_project_in_it(run: Run, tmp_path: Path) -> None:
    init = ("init", "--data-dir", tmp_path, "--email", "a@shop.example", "--currency")
    made = run(*init, "jpy", "--account", "Shop", "--json").json
    catalog = Catalog.open(Settings(data_dir=tmp_path))
    try:
        project = catalog.projects.get(made["account_id"], made["project_id"])
    finally:
        catalog.close()
    assert (project.name, project.revenue_currency) == ("Shop", "JPY")
    assert "amounts in KWD" in run(*init, "KWD", "--account", "Other").out
    assert run("check", "--data-dir", tmp_path).status == 0
    with opened_store(tmp_path) as store:
        assert len(store.catalog.projects.ids()) == 2
        warehouse = store.catalog.warehouses.find()
    assert warehouse is not None
    assert warehouse.is_confirmed
    (tmp_path / "warehouse.duckdb").unlink()
    run(*init, "EUR", "--account", "Third")
    assert "is missing" in run("check", "--data-dir", tmp_path).out


def test_init_refuses_an_unknown_currency_and_creates_nothing(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ran = run(
        *("init", "--data-dir", store, "--account", "Shop"),
        *("--email", "a@shop.example", "--currency", "euro"),
    )
    assert ran.status == 2
    assert "'EURO' is no ISO 4217 code" in ran.err
    assert not store.exists()


def test_a_second_account_on_one_store_is_its_own(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    second = run("init", "--data-dir", tmp_path, "--account", "Shop", "--email", "b@b.example", "--json").json
    assert second["account_id"] != account["account_id"]


def test_a_key_has_the_scopes_it_was_given(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    where = ("--data-dir", tmp_path, "--account", account["account_id"])
    member = run(
        "members", "add", *where, "--email", "m@m.example", "--name", "Mo", "--role", "member", "--json"
    )
    made = run(
        *("keys", "create", *where, "--member", member.json["id"], "--name", "CI"),
        *("--scopes", "projects:read, results:read", "--json"),
    )
    key = key_of(tmp_path, made.json["token"])
    assert key is not None
    assert (key.id, set(key.scopes)) == (made.json["id"], {"projects:read", "results:read"})


def test_limits_of_one_account_override_its_plan(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    where = ("--data-dir", tmp_path, "--account", account["account_id"])
    changed = run("account", "update", *where, "--plan", "growth", "--max-projects", "7", "--json").json
    assert changed["plan"] == "growth"
    assert changed["max_projects"] == 7
    assert changed["rate_limit_per_minute"] == 500
    again = run(
        "account", "update", *where, "--subscription-status", "past_due", "--rate-limit", "9", "--json"
    )
    assert again.json["max_projects"] == 7
    assert again.json["rate_limit_per_minute"] == 9
    assert again.json["subscription_status"] == "past_due"


@pytest.mark.usefixtures("account")
def test_what_cannot_be_done_is_one_sentence_and_status_1(run: Run, tmp_path: Path) -> None:
    ran = run("account", "update", "--data-dir", tmp_path, "--account", "acc_nobody", "--plan", "scale")
    assert (ran.status, ran.out) == (1, "")
    assert "there is no account 'acc_nobody'" in ran.err
    assert "Traceback" not in ran.err


def test_an_unknown_scope_is_named(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    ran = run(
        *("keys", "create", "--data-dir", tmp_path, "--account", account["account_id"]),
        *("--member", account["member_id"], "--name", "x", "--scopes", "everything"),
    )
    assert ran.status == 1
    assert "everything" in ran.err


def test_init_makes_an_account_of_the_largest_plan(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    where = ("--data-dir", tmp_path, "--account", account["account_id"])
    assert run("account", "update", *where, "--json").json["plan"] == "scale"


def test_a_revoked_key_is_listed_and_works_no_more(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    where = ("--data-dir", tmp_path, "--account", account["account_id"])
    (first,) = run("keys", "list", *where, "--json").json["keys"]
    assert (first["member_id"], first["revoked_at"]) == (account["member_id"], None)
    assert account["token"] not in str(first)
    revoked = run("keys", "revoke", *where, "--key", first["id"], "--json")
    again = run("keys", "revoke", *where, "--key", first["id"], "--json")
    assert revoked.status == again.status == 0
    assert revoked.json["revoked_at"] == again.json["revoked_at"] is not None
    assert run("keys", "list", *where, "--json").json["keys"] == [revoked.json]
    assert key_of(tmp_path, account["token"]) is None
    assert first["id"] in run("keys", "list", *where).out


def test_a_removed_member_is_gone_with_its_keys(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    where = ("--data-dir", tmp_path, "--account", account["account_id"])
    added = run("members", "add", *where, "--email", "m@m.example", "--name", "Mo", "--json").json["id"]
    token = run(
        *("keys", "create", *where, "--member", added, "--name", "CI", "--scopes", "results:read", "--json")
    ).json["token"]
    listed = run("members", "list", *where, "--json").json["members"]
    assert [one["id"] for one in listed] == [account["member_id"], added]
    removed = run("members", "remove", *where, "--member", added, "--json")
    assert (removed.status, removed.json) == (0, listed[1])
    assert run("members", "list", *where, "--json").json["members"] == listed[:1]
    assert key_of(tmp_path, token) is None
    again = run("members", "remove", *where, "--member", added)
    assert (again.status, "there is no member" in again.err) == (1, True)


def test_the_only_owner_cannot_be_removed(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    where = ("--data-dir", tmp_path, "--account", account["account_id"])
    refused = run("members", "remove", *where, "--member", account["member_id"])
    assert (refused.status, "a@shop.example is the only owner" in refused.err) == (1, True)
    assert key_of(tmp_path, account["token"]) is not None


def test_the_only_account_needs_no_name(run: Run, tmp_path: Path, account: dict[str, str]) -> None:
    where, joined = ("--data-dir", tmp_path, "--json"), ("--email", "b@shop.example", "--name", "Bo")
    added = run("members", "add", *where, *joined).json["id"]
    assert [one["id"] for one in run("members", "list", *where).json["members"]][1:] == [added]
    made = run("keys", "create", *where, "--member", added, "--name", "CI", "--scopes", "projects:read").json[
        "id"
    ]
    assert made in [one["id"] for one in run("keys", "list", *where).json["keys"]]
    assert run("keys", "revoke", *where, "--key", made).json["revoked_at"]
    assert run("account", "update", *where, "--plan", "growth").json["id"] == account["account_id"]
    assert run("members", "remove", *where, "--member", added).json["id"] == added
    run("init", "--data-dir", tmp_path, "--account", "Other", "--email", "c@shop.example")
    refused = run("members", "list", *where)
    assert "this store has several accounts; name one with --account: " in refused.err


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("command", [("members", "list"), ("keys", "list")])
def test_an_unknown_account_is_named(run: Run, tmp_path: Path, command: tuple[str, str]) -> None:
    refused = run(*command, "--data-dir", tmp_path, "--account", "acc_other")
    assert (refused.status, "there is no account 'acc_other'" in refused.err) == (1, True)
