"""A table of sums as it was given: its variants and days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import polars as pl

from engine.currencies import minor_units
from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.frames.kinds import Funnel, Quantile, require_unadjusted
from engine.frames.rows import Columns, collected, table_of
from engine.frames.seen import Seen
from engine.frames.sums.sum_columns import VISITORS
from engine.frames.sums.sum_counts import SumCounts
from engine.frames.sums.sum_days import SumDays

_FORM: Final = (
    "a row per variant with the columns variant, visitors, and for each goal its name (visitors who "
    "converted) or <goal>_sum and <goal>_squares"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTable:
    """Rows of a table of sums, with the text `variant`, and their days; None without days."""

    rows: pl.DataFrame
    columns: Columns
    days: SumDays | None

    @classmethod
    def of(cls, sums: Any, columns: Columns, *, timezone: str = "UTC") -> Self:  # noqa: ANN401  # any frame
        """Read a frame, or a mapping of columns, whole; `timestamp` names the column of days.

        Raises InvalidEvidenceError for what is no such table, and for what sums cannot tell.
        """
        _require_summed(columns)
        if isinstance(sums, Mapping):
            sums = pl.DataFrame(dict(sums))
        known = table_of(sums).collect_schema().names()
        for name in (columns.variant, VISITORS):
            if name not in known:
                raise InvalidEvidenceError(f"sums has no column {name!r}; give {_FORM}")
        table = collected(sums, known)
        if table.is_empty():
            raise InvalidEvidenceError(f"sums has no rows; give {_FORM}")
        if missing := table[columns.variant].null_count():
            raise column_errors.missing_values(columns.variant, missing)
        return cls(
            rows=table.with_columns(pl.col(columns.variant).cast(pl.String).alias("variant")),
            columns=columns,
            days=SumDays.of(table, columns.timestamp, timezone) if columns.timestamp else None,
        )

    @property
    def seen(self) -> Seen:
        """Variants, and the time from the first day to the end of the last."""
        return Seen(
            variants=self.rows["variant"].unique().to_list(),
            first=self.days.first if self.days else None,
            last=self.days.last if self.days else None,
        )

    def count(self, variants: Sequence[str]) -> SumCounts:
        """Read the sums of every goal, with the variants in this order."""
        goals = self.columns.goals
        units = {name: minor_units(self.columns.currency_of(name)) for name in goals}
        return SumCounts.of(self.rows, variants=variants, goals=goals, units=units, days=self.days)


def _require_summed(columns: Columns) -> None:
    if columns.visitor is not None:
        raise InvalidEvidenceError("sums have no visitors: leave out visitor")
    require_unadjusted(columns.goals, "sums take no covariates, orders or caps")
    for name, goal in columns.goals.items():
        if goal.known is not None:
            raise InvalidEvidenceError(f"sums take no column of known outcomes; leave it out of {name!r}")
    for name, kind in columns.goals.items():
        if isinstance(kind, Quantile):
            raise InvalidEvidenceError(f"{name!r} is a quantile, which takes rows: leave it out of sums")
        if isinstance(kind, Funnel):
            raise InvalidEvidenceError(
                f"{name!r} is a funnel, which takes rows; with sums, give its last step as conversions"
            )
