"""Sign-in links: one use, one minute, and only a digest in the catalog."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from sqlalchemy import select

from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.schema import sign_in_links
from pipeline.store.catalog.sign_in.sign_in_links import VALID_FOR
from tests.builders import NOW

MOMENT = timedelta(microseconds=1)


def test_a_link_gives_its_token_once(catalog: Catalog) -> None:
    secret = catalog.sign_in_links.create(b"encrypted", now=NOW)
    assert catalog.sign_in_links.take(secret + "x", now=NOW) is None
    assert catalog.sign_in_links.take(secret, now=NOW) == b"encrypted"
    assert catalog.sign_in_links.take(secret, now=NOW) is None


def test_a_link_is_over_after_a_minute(catalog: Catalog) -> None:
    first, second = (catalog.sign_in_links.create(b"encrypted", now=NOW) for _ in range(2))
    assert catalog.sign_in_links.take(first, now=NOW + VALID_FOR - MOMENT) == b"encrypted"
    assert catalog.sign_in_links.take(second, now=NOW + VALID_FOR) is None


def test_links_that_are_over_are_deleted_with_the_next_one(catalog: Catalog) -> None:
    catalog.sign_in_links.create(b"old", now=NOW)
    catalog.sign_in_links.create(b"new", now=NOW + VALID_FOR)
    assert [row["token"] for row in stored(catalog)] == [b"new"]


def test_the_secret_is_not_stored(catalog: Catalog) -> None:
    secret = catalog.sign_in_links.create(b"encrypted", now=NOW)
    assert secret not in str(stored(catalog))


def test_of_two_browsers_at_once_one_is_signed_in(catalog: Catalog) -> None:
    secret = catalog.sign_in_links.create(b"encrypted", now=NOW)
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: catalog.sign_in_links.take(secret, now=NOW), range(8)))
    assert taken.count(b"encrypted") == 1


def stored(catalog: Catalog) -> list[dict[str, object]]:
    database = catalog.sign_in_links._database  # noqa: SLF001 - what is on disk
    with database.read() as connection:
        return [dict(row) for row in connection.execute(select(sign_in_links)).mappings()]
