"""Stores of an import, and its result: numbers of new, known and rejected rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from engine.design.experiment import Experiment
from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.sources.tables import BadRow, UnreadableSourceError
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse.connection import Warehouse

# Bad rows that are kept with their reasons; further ones are counted.
MAX_BAD_ROWS = 1000


class ImportStores(Protocol):
    """The stores that an import reads and writes; the services of a process have them."""

    @property
    def settings(self) -> Settings:
        """Settings of the process."""

    @property
    def catalog(self) -> Catalog:
        """Experiments."""

    @property
    def ingest(self) -> Ingest:
        """The writer of events."""

    @property
    def warehouse(self) -> Warehouse:
        """Stored events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import: the experiment (None for events), and numbers of rows and events.

    `rows` and `events` are new; `known_rows` and `known_events` were stored already. `returning_rows` are new
    rows of a visitor, and of a time where the file has times, that an earlier import had;
    `has_earlier_rows` holds where the experiment had rows of an earlier import at all. `left_out` rows are of
    experiments that are over, or of persons from before they were erased, so that they are not stored.
    `repeated_times` rows have a time without an offset that the clocks showed twice, and got the first.
    `bad_rows` are the first of the `rejected` rows, `newest_us` is the newest time of a visitor (epoch µs).
    """

    experiment: Experiment | None = None
    rows: int = 0
    events: int = 0
    known_rows: int = 0
    known_events: int = 0
    returning_rows: int = 0
    has_earlier_rows: bool = False
    left_out: int = 0
    rejected: int = 0
    repeated_times: int = 0
    bad_rows: tuple[BadRow, ...] = ()
    newest_us: int | None = None

    def with_rejected(self, rows: Sequence[BadRow]) -> Self:
        """Count further rejected rows."""
        kept = (*self.bad_rows, *rows[: MAX_BAD_ROWS - len(self.bad_rows)])
        return replace(self, rejected=self.rejected + len(rows), bad_rows=kept)

    def with_repeated_times(self, rows: int) -> Self:
        """Count further rows of times that the clocks showed twice."""
        return replace(self, repeated_times=self.repeated_times + rows)

    def plus(self, chunk: Self) -> Self:
        """Add the numbers of a chunk."""
        return replace(
            self,
            rows=self.rows + chunk.rows,
            events=self.events + chunk.events,
            known_rows=self.known_rows + chunk.known_rows,
            known_events=self.known_events + chunk.known_events,
            returning_rows=self.returning_rows + chunk.returning_rows,
            left_out=self.left_out + chunk.left_out,
        )

    @property
    def numbers(self) -> dict[str, dict[str, int]]:
        """The numbers of rows and events, as JSON for users."""
        return {
            "rows": {
                "read": self.rows + self.known_rows + self.left_out + self.rejected,
                "new": self.rows,
                "already_there": self.known_rows,
                "of_known_visitors": self.returning_rows,
                "left_out": self.left_out,
                "rejected": self.rejected,
                "at_repeated_times": self.repeated_times,
            },
            "events": {"new": self.events, "already_there": self.known_events},
        }


def require_few_bad_rows(imported: Imported, usable: int, largest_share: float) -> None:
    """Raise UnreadableSourceError where the share of rejected rows is above the largest one allowed."""
    share = imported.rejected / max(imported.rejected + usable, 1)
    if share > largest_share:
        bad = imported.bad_rows[0]
        raise UnreadableSourceError(
            f"{imported.rejected:,} of {imported.rejected + usable:,} rows are unusable ({share:.2%}), and "
            f"max_bad_share is {largest_share:.2%}; the first is line {bad.line} of {bad.table}: {bad.reason}"
        )
