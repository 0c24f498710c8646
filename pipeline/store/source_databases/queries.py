"""Queries of the databases that imports read: a table, or the text of a SELECT."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final, Self

# Stands in a query for the time from which on rows are read again.
SINCE: Final = "{since}"
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
RunStatement = Callable[[str], list[tuple[Any, ...]]]
# Nothing else can be in a comment, so that no text ends it.
_NOT_IN_COMMENTS: Final = re.compile(r"[^\w .:=-]", re.ASCII)


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
    """A database that cannot be opened, or a query that it refuses; the message has no secret.

    `is_lost` tells that the connection ended, so that the same query may succeed once more.
    """

    def __init__(self, message: str, *, is_lost: bool = False) -> None:
        """Keep the message."""
        super().__init__(message)
        self.is_lost = is_lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The rows wanted: those of a `table` such as `shop.orders`, or of the SELECT `sql`.

    `most_rows` are enough of them, where not all are to be copied. `comment` is sent before the statement,
    for those who watch the server, and `session` are statements of its session. All of it takes at most
    `timeout_seconds`. An engine that bills bytes refuses to read more than `most_bytes`, and tells those that
    it read to `on_billed`; or where the statement `is_planned` alone, those that it would read.
    """

    table: str | None = None
    sql: str | None = None
    most_rows: int | None = None
    comment: str = ""
    session: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    most_bytes: int | None = None
    is_planned: bool = False
    on_billed: Callable[[int], None] | None = None

    def note_billed(self, count: int | None) -> None:
        """Tell the bytes that were read, where the engine bills them."""
        if self.on_billed is not None and count is not None:
            self.on_billed(count)

    @property
    def statement(self) -> str:
        """The SELECT, without a semicolon at its end."""
        if self.table is not None:
            return "SELECT * FROM " + ".".join(map(quoted_name, self.table.split(".")))
        return (self.sql or "").strip().removesuffix(";")

    @property
    def remark(self) -> str:
        """The comment in SQL, and a space; empty without one."""
        return f"/* {self.comment_text} */ " if self.comment else ""

    @property
    def comment_text(self) -> str:
        """The comment, without characters that could end it or a text."""
        return _NOT_IN_COMMENTS.sub("_", self.comment)

    @property
    def has_since(self) -> bool:
        """Tell whether the text has a place for a time."""
        return SINCE in (self.sql or "")

    def since(self, time: datetime | None) -> "Query":
        """Put a time in its place; without one, a time before every row."""
        literal = f"TIMESTAMPTZ '{(time or _EVER).astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"
        return replace(self, sql=self.sql and self.sql.replace(SINCE, literal))


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The time that a query may take, from its beginning on; `ends` is of the monotonic clock."""

    seconds: float
    ends: float

    @classmethod
    def of(cls, query: Query) -> Self | None:
        """Begin the time of a query; None without a limit."""
        seconds = query.timeout_seconds
        return None if seconds is None else cls(seconds, monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        """Tell whether no time is left."""
        return monotonic() >= self.ends

    @property
    def error(self) -> SourceDatabaseError:
        """The error of a query that took longer."""
        return SourceDatabaseError(f"the statement was ended after {self.seconds:,.0f} seconds")
