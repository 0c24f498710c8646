"""Queries of the databases that imports read: a table, or the text of a SELECT."""

from dataclasses import dataclass


class SourceDatabaseError(Exception):
    """A database that cannot be opened, or a query that it refuses; the message has no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The rows wanted: those of a `table` such as `shop.orders`, or of the SELECT `sql`."""

    table: str | None = None
    sql: str | None = None

    @property
    def statement(self) -> str:
        """The SELECT, without a semicolon at its end."""
        if self.table is not None:
            parts = (part.replace('"', '""') for part in self.table.split("."))
            return "SELECT * FROM " + ".".join(f'"{part}"' for part in parts)
        return (self.sql or "").strip().removesuffix(";")
