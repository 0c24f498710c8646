"""Refused keys wait for the audit trail in bounded memory, and until it can be written."""

from dataclasses import replace
from typing import Any

import pytest

from pipeline.store.catalog import refused_keys
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError


def told(catalog: Catalog, key_id: str) -> list[dict[str, Any]]:
    return [dict(one.changes) for one in catalog.audit.of(key_id) if "refused" in one.changes]


def test_an_entry_tells_the_number_by_reason_and_way(catalog: Catalog, account: Account) -> None:
    (key,) = catalog.keys.of_account(account.id)
    for _ in range(3):
        catalog.refused_keys.note(key, "wrong", "api")
    catalog.refused_keys.note(key, "revoked", "api")
    catalog.refused_keys.write()
    catalog.refused_keys.write()
    entries = told(catalog, key.id)
    assert len(entries) == 2
    assert {"refused": [None, 3], "reason": [None, "wrong"], "way": [None, "api"]} in entries


def test_no_more_keys_wait_than_may(
    catalog: Catalog, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_keys, "MOST_WAITING", 3)
    (key,) = catalog.keys.of_account(account.id)
    keys = [replace(key, id=f"{key.id[:-1]}{number}") for number in range(5)]
    for one in (*keys, *keys):
        catalog.refused_keys.note(one, "wrong", "mcp")
    catalog.refused_keys.write()
    numbers = [[one["refused"][1] for one in told(catalog, each.id)] for each in keys]
    assert numbers == [[2], [2], [2], [], []]


def test_what_could_not_be_written_is_written_later(
    catalog: Catalog, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    (key,) = catalog.keys.of_account(account.id)
    catalog.refused_keys.note(key, "wrong", "api")

    def busy(_database: Database) -> Any:
        raise CatalogBusyError("busy")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "write", busy)
        with pytest.raises(CatalogBusyError):
            catalog.refused_keys.write()
    catalog.refused_keys.note(key, "wrong", "api")
    catalog.refused_keys.write()
    assert [one["refused"] for one in told(catalog, key.id)] == [[None, 2]]
