"""Pages of listings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, RowMapping, Select, func, select

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items `(page - 1) · per_page` onward of `total`."""

    items: Sequence[Item]
    page: int
    per_page: int
    total: int


def fetch_page(
    connection: Connection, query: Select[Any], page: int, per_page: int
) -> tuple[Sequence[RowMapping], int]:
    """Fetch the rows of a page (`page` from 1), and the number of rows on all pages."""
    total = connection.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    # A page far beyond the end is empty, and its offset may not fit the database's integers.
    if (page - 1) * per_page >= total:
        return [], total
    rows = connection.execute(query.limit(per_page).offset((page - 1) * per_page))
    return rows.mappings().all(), total
