from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import pytest
from sqlalchemy import select, text

from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError, NotFoundError
from pipeline.store.catalog.schema import accounts


@pytest.mark.only_on("sqlite")
def test_sqlite_is_opened_for_many_readers_and_one_writer(catalog: Catalog) -> None:
    with catalog.database.read() as connection:
        pragmas = {
            name: connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}


def test_write_that_fails_is_undone_whole(catalog: Catalog) -> None:
    account, _, _ = catalog.accounts.create("Acme", "owner@acme.example")

    def delete_and_fail() -> None:
        with catalog.database.write() as connection:
            connection.execute(accounts.delete())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        delete_and_fail()
    assert catalog.accounts.all() == [account]


def test_times_come_back_in_utc_to_the_microsecond(catalog: Catalog) -> None:
    account, _, _ = catalog.accounts.create("Acme", "owner@acme.example")
    with catalog.database.read() as connection:
        created_at = connection.scalar(select(accounts.c.created_at))
    assert created_at == account.created_at
    assert created_at is not None
    assert created_at.tzinfo is UTC


def test_two_catalogs_on_one_database_take_turns_at_writing(settings: Settings) -> None:
    catalogs = [Catalog.open(settings), Catalog.open(settings)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: catalogs[n % 2].accounts.create("Acme", "owner@acme.example"), range(40)))
    assert len({account.slug for account in catalogs[0].accounts.all()}) == 40
    for catalog in catalogs:
        catalog.close()


@pytest.mark.only_on("sqlite")
def test_writer_that_waits_too_long_is_told_to_try_again(settings: Settings) -> None:
    catalog = Catalog.open(settings)
    impatient = Database(settings.effective_catalog_url)
    with impatient.read() as connection:
        connection.execute(text("PRAGMA busy_timeout = 50"))
    with catalog.database.write() as holding:
        holding.execute(accounts.delete())
        with pytest.raises(CatalogBusyError), impatient.write():
            pass
    impatient.close()
    catalog.close()


def test_error_of_the_work_itself_passes_through(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError):
        catalog.members.add("acc_nobody", email="bo@acme.example", name="Bo")


def test_writes_together_are_kept_together(catalog: Catalog) -> None:
    with catalog.database.together():
        first, _, _ = catalog.accounts.create("One", "owner@one.example")
        assert catalog.accounts.get(first.id) == first
        before = catalog.database.version
        catalog.accounts.create("Two", "owner@two.example")
    assert catalog.database.version > before
    assert [account.name for account in catalog.accounts.all()] == ["One", "Two"]


def test_writes_together_are_undone_together(catalog: Catalog) -> None:
    def create_two_and_fail() -> None:
        with catalog.database.together():
            catalog.accounts.create("One", "owner@one.example")
            catalog.accounts.create("Two", "owner@two.example")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        create_two_and_fail()
    assert catalog.accounts.all() == []


def test_write_that_fails_among_others_is_undone_alone(catalog: Catalog) -> None:
    def delete_and_fail() -> None:
        with catalog.database.write() as connection:
            connection.execute(accounts.delete())
            raise RuntimeError

    with catalog.database.together():
        created, _, _ = catalog.accounts.create("One", "owner@one.example")
        with pytest.raises(RuntimeError):
            delete_and_fail()
    assert catalog.accounts.all() == [created]


def test_writes_together_lock_nobody_out_before_the_first(catalog: Catalog) -> None:
    with catalog.database.together(), ThreadPoolExecutor(1) as pool:
        pool.submit(catalog.accounts.create, "Other", "owner@other.example").result(timeout=5)
        catalog.accounts.create("One", "owner@one.example")
    assert [account.name for account in catalog.accounts.all()] == ["Other", "One"]
