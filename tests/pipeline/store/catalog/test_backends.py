import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, make_url, select, text

from pipeline.settings import Settings
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.backends import POSTGRESQL_NAMES
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError, CatalogError, NotFoundError
from pipeline.store.catalog.schema import accounts


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("scheme", POSTGRESQL_NAMES)
def test_postgresql_is_reached_however_its_url_is_written(settings: Settings, scheme: str) -> None:
    url = settings.effective_catalog_url
    catalog = Catalog.open(settings.model_copy(update={"catalog_url": scheme + url[url.index("://") :]}))
    with catalog.database.read() as connection:
        assert connection.dialect.name == "postgresql"
    catalog.close()


@pytest.mark.parametrize(
    ("url", "hint"),
    [("shop.example", "write postgresql://"), ("mysql://shop.example/catalog", "use sqlite or postgresql")],
)
def test_url_of_no_catalog_is_refused_with_a_hint(tmp_path: Path, url: str, hint: str) -> None:
    with pytest.raises(CatalogError, match=hint):
        Catalog.open(Settings(data_dir=tmp_path, catalog_url=url))


def test_missing_driver_is_named_with_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What an installation without the extra looks like.
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CatalogError, match="install the extra 'postgres'"):
        Catalog.open(Settings(data_dir=tmp_path, catalog_url="postgresql://shop.example/catalog"))


def test_server_that_is_not_there_is_told_to_whoever_opens_the_catalog(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be opened: connection"):
        Catalog.open(Settings(data_dir=tmp_path, catalog_url=f"postgresql:///catalog?host={tmp_path}"))


@pytest.mark.only_on("postgresql")
def test_reader_sees_one_state_while_others_write(catalog: Catalog, settings: Settings) -> None:
    other = Catalog.open(settings)
    count = select(func.count()).select_from(accounts)
    with catalog.database.read() as connection:
        before = connection.scalar(count)
        other.accounts.create("Acme", "owner@acme.example")
        assert connection.scalar(count) == before
    with catalog.database.read() as connection:
        assert connection.scalar(count) == 1
    other.close()


@pytest.mark.only_on("postgresql")
def test_writer_that_waits_too_long_for_a_row_is_told_to_try_again(
    catalog: Catalog, account: Account, settings: Settings
) -> None:
    url = make_url(settings.effective_catalog_url)
    impatient = Database(url.update_query_dict({"options": "-c lock_timeout=50"}).render_as_string())
    with catalog.database.write() as holding:
        holding.execute(select(accounts).with_for_update())
        with pytest.raises(CatalogBusyError), impatient.write() as connection:
            connection.execute(accounts.update().values(name="Mine"))
    impatient.close()
    assert catalog.accounts.get(account.id) == account


@pytest.mark.only_on("postgresql")
def test_connections_that_the_server_has_closed_are_made_anew(
    catalog: Catalog, new_catalog_url: Callable[[], str | None]
) -> None:
    with catalog.database.read() as connection:
        process = connection.scalar(text("SELECT pg_backend_pid()"))
    killer = Database(str(new_catalog_url()))
    with killer.write() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:process, 5000)"), {"process": process})
    killer.close()
    catalog.ping()


def test_name_with_a_nul_is_nobodys(catalog: Catalog, account: Account) -> None:
    with pytest.raises(NotFoundError):
        catalog.projects.get(account.id, "prj_\0")
    with pytest.raises(NotFoundError):
        catalog.projects.by_sdk_key("pk_\0")
