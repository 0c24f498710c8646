"""Queries of the databases that imports read: a table, or the text of a SELECT."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

# Stands in a query for the time from which on rows are read again.
SINCE: Final = "{since}"
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


def quoted_name(name: str) -> str:
    """Quote the name of a table or column."""
    return '"' + name.replace('"', '""') + '"'


def columns_to_read(
    found: Sequence[str], wanted: Sequence[str] | None, most_rows: int | None
) -> tuple[Sequence[str], int | None]:
    """Choose the wanted columns of those found, or all of them and no row where one is missing."""
    if wanted is None:
        return found, most_rows
    return (wanted, most_rows) if set(wanted) <= set(found) else (found, 0)


class SourceDatabaseError(Exception):
    """A database that cannot be opened, or a query that it refuses; the message has no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The rows wanted: those of a `table` such as `shop.orders`, or of the SELECT `sql`.

    `most_rows` are enough of them, where not all are to be copied.
    """

    table: str | None = None
    sql: str | None = None
    most_rows: int | None = None

    @property
    def statement(self) -> str:
        """The SELECT, without a semicolon at its end."""
        if self.table is not None:
            return "SELECT * FROM " + ".".join(map(quoted_name, self.table.split(".")))
        return (self.sql or "").strip().removesuffix(";")

    @property
    def has_since(self) -> bool:
        """Tell whether the text has a place for a time."""
        return SINCE in (self.sql or "")

    def since(self, time: datetime | None) -> "Query":
        """Put a time in its place; without one, a time before every row."""
        literal = f"TIMESTAMPTZ '{(time or _EVER).astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"
        return replace(self, sql=self.sql and self.sql.replace(SINCE, literal))
