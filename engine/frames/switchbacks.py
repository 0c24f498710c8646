"""Switchback tests: schedules of randomised windows of time, and their rows as clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from engine.errors import InvalidDesignError, InvalidEvidenceError, Problem
from engine.frames import column_errors
from engine.frames.goal_columns import microseconds
from engine.frames.rows import Columns, collected
from engine.local_days import EPOCH, epoch_microseconds

WINDOW: Final = "window"
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switchback:
    """Windows of time in which everyone of a region saw one variant, of a test in rows such as orders.

    Options:
        time: The column with the time of each row, in UTC unless it has a zone of its own.
        window_hours: The length of a window, in hours that pass.
        region: The column of what was switched on its own, such as "city"; by default everything at once.
        washout_minutes: Left out at the start of a window whose variant differs from that of the one before.
        start: When a window begins; by default midnight in UTC.
    """

    time: str
    window_hours: float
    region: str | None = None
    washout_minutes: float = 0.0
    start: datetime = EPOCH

    def __post_init__(self) -> None:
        _window_of(self.window_hours)
        _in_utc(self.start)
        if not 0 <= self.washout_minutes < 60 * self.window_hours:
            raise _invalid(
                "washout_minutes",
                f"must be from 0 to less than a window's {60 * self.window_hours:g}, not"
                f" {self.washout_minutes!r}",
            )

    def in_windows(self, df: Any, columns: Columns) -> tuple[pl.DataFrame, Columns]:  # noqa: ANN401  # as `read_rows`
        """Give each row the window that it is in, as its cluster, without the rows of washouts.

        The variant before the first window, and before one that follows windows without rows, is not known
        and taken for another one. Raises InvalidEvidenceError for a window with rows of several variants.
        """
        if columns.visitor is not None or columns.cluster is not None:
            raise InvalidEvidenceError(
                "the rows of a switchback are compared by window: leave out visitor and cluster"
            )
        named = [*columns.named, self.time, *([] if self.region is None else [self.region])]
        if WINDOW in named:
            raise InvalidEvidenceError(f"rename the column {WINDOW!r}: a switchback has windows of its own")
        frame = collected(df, list(dict.fromkeys(named)))
        if missing := frame[columns.variant].null_count():
            raise column_errors.missing_values(columns.variant, missing)
        rows = self._numbered(frame, columns.variant)
        windows = rows.group_by("region", "number").agg(
            pl.col("variant").unique().sort(), pl.col(WINDOW).first()
        )
        self._require_one_variant(windows)
        of_rows = rows.join(
            self._changed(windows), on=["region", "number"], how="left", maintain_order="left"
        )
        is_kept = ~of_rows["is_changed"] | (of_rows["since"] >= self.washout_minutes * 60_000_000)
        chosen = frame.with_columns(rows[WINDOW]).filter(is_kept)
        return chosen, replace(columns, cluster=WINDOW, timestamp=columns.timestamp or self.time)

    def _numbered(self, frame: pl.DataFrame, variant: str) -> pl.DataFrame:
        """Number the window of each row, name it, and tell the microseconds since it began."""
        length = _window_of(self.window_hours) // _MICROSECOND
        first = epoch_microseconds(_in_utc(self.start))
        region = pl.lit("") if self.region is None else pl.col(self.region).cast(pl.String)
        rows = frame.select(
            microseconds(frame, self.time).alias("at"),
            region.alias("region"),
            pl.col(variant).cast(pl.String).alias("variant"),
        )
        for column, name in (("at", self.time), ("region", self.region)):
            if name is not None and (missing := rows[column].null_count()):
                raise column_errors.missing_values(name, missing)
        since = pl.col("at") - first
        begun = first + (since // length) * length
        window = begun.cast(pl.Datetime("us")).dt.strftime("%Y-%m-%d %H:%M:%S UTC") + (
            pl.lit("") if self.region is None else " in " + pl.col("region")
        )
        return rows.select(
            "region",
            "variant",
            (since // length).alias("number"),
            (pl.col("at") - begun).alias("since"),
            window.alias(WINDOW),
        )

    def _require_one_variant(self, windows: pl.DataFrame) -> None:
        mixed = windows.filter(pl.col("variant").list.len() > 1).sort("number", "region")
        if mixed.height:
            raise InvalidEvidenceError(
                f"{mixed.height:,} of {windows.height:,} windows have rows of several variants, such as that"
                f" of {mixed[WINDOW][0]} ({', '.join(map(repr, mixed['variant'][0]))}):"
                " check window_hours, start, region and the times"
            )

    def _changed(self, windows: pl.DataFrame) -> pl.DataFrame:
        """Flag the windows whose variant differs from that of the window before."""
        before = windows.select("region", pl.col("number") + 1, pl.col("variant").alias("before"))
        joined = windows.join(before, on=["region", "number"], how="left")
        is_same = (pl.col("variant") == pl.col("before")).fill_null(value=False)
        return joined.select("region", "number", (~is_same).alias("is_changed"))


def switchback_schedule(  # noqa: PLR0913  # a schedule is of all of them
    start: datetime,
    end: datetime,
    *,
    window_hours: float,
    variants: Sequence[str],
    seed: int,
    regions: Sequence[str] = (),
) -> pl.DataFrame:
    """Draw the variant of each window of a switchback test; the same seed draws the same schedule.

    In each region the variants get equally many windows, or one more, in a random order: an order that
    alternates would follow the hours of the day. Times without a zone are in UTC, and a remainder of `end`
    shorter than a window is left out. Columns: `starts_at` and `ends_at` (UTC), `region` with regions, and
    `variant`. Raises InvalidDesignError for fewer windows than variants, and names given twice.
    """
    length = _window_of(window_hours)
    first = _in_utc(start)
    windows = (_in_utc(end) - first) // length
    for what, names in (("variants", variants), ("regions", regions)):
        if len(set(names)) < len(names):
            raise _invalid(what, f"must differ from each other, not {list(names)}")
    if not 2 <= len(variants) <= windows:
        raise _invalid(
            "variants",
            "must be two or more, with a window for each: from start to end there are"
            f" {max(windows, 0)} windows of {window_hours:g} hours for {len(variants)}",
        )
    rng = np.random.default_rng(seed)
    starts = [first + number * length for number in range(windows)]
    parts = [
        pl.DataFrame(
            {
                "starts_at": starts,
                "ends_at": [one + length for one in starts],
                "region": [region] * windows,
                "variant": _order(windows, variants, rng),
            },
            schema_overrides=dict.fromkeys(("starts_at", "ends_at"), pl.Datetime("us", "UTC")),
        )
        for region in regions or [""]
    ]
    schedule = pl.concat(parts).sort("starts_at", maintain_order=True)
    return schedule if regions else schedule.drop("region")


def _order(windows: int, variants: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Shuffle equal numbers of the variants; those with one more are drawn, too."""
    dealt = np.tile(rng.permutation(len(variants)), -(-windows // len(variants)))[:windows]
    return [variants[place] for place in rng.permutation(dealt).tolist()]


def _window_of(hours: float) -> timedelta:
    # Names of windows are exact to the second.
    if not 1 / 3600 <= hours <= 24 * 366:
        raise _invalid("window_hours", f"must be above 0, from a second to a year's 8784, not {hours!r}")
    return timedelta(hours=hours)


def _invalid(field: str, message: str) -> InvalidDesignError:
    return InvalidDesignError([Problem(field, message)])


def _in_utc(moment: datetime) -> datetime:
    if not isinstance(moment, datetime):
        raise _invalid("start", f"must be a datetime, not {moment!r}")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
