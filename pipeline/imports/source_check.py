"""Check of a source: its first rows as they would be imported."""

from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from engine.design.project import draft_project
from engine.local_days import epoch_microseconds
from pipeline.imports.import_result import Imported, require_few_bad_rows
from pipeline.imports.source_import import read_source_events, visitor_columns
from pipeline.imports.visitor_rows import read_visitors
from pipeline.sources.definition_files import DefinedSource
from pipeline.sources.tables import BadRow, Chunk, UnreadableSourceError, read_tables
from pipeline.sources.times import count_repeated
from pipeline.sources.watermarks import Watermark, all_watermarks

ROWS_SHOWN: Final = 10
_EVENT_COLUMNS: Final = (
    *("type", "visitor_id", "user_id", "experiment_id", "variant_id", "event_name", "value"),
    *("revenue_cents", "currency", "transaction_id", "is_refund", "is_bot"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSource:
    """A usable source: its first rows, times in UTC, those of them that are unusable, and its watermarks.

    `repeated_times` of them have a time without an offset that the clocks showed twice; `warning` says that
    more of them than `max_bad_share` are unusable.
    """

    name: str
    kind: str
    tables: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    bad_rows: tuple[BadRow, ...]
    repeated_times: int
    warning: str | None
    watermarks: dict[str, Watermark]

    def as_json(self) -> dict[str, Any]:
        """Build the object that programs read; the watermarks are by project."""
        return {
            "source": self.name,
            "kind": self.kind,
            "tables": list(self.tables),
            "rows": list(self.rows),
            "rejected": [{"line": bad.line, "reason": bad.reason} for bad in self.bad_rows],
            "at_repeated_times": self.repeated_times,
            "warning": self.warning,
            "watermarks": msgspec.to_builtins(self.watermarks),
        }


def check_source(defined: DefinedSource, data_dir: Path, *, now: datetime) -> CheckedSource:
    """Read the first ten rows of a source, and the columns of each table; UnreadableSourceError.

    Amounts without a currency are of US dollars, as the project is not known.
    """
    source, tables = defined.source, defined.tables(most_rows=ROWS_SHOWN)
    first = Chunk(pl.DataFrame())
    for table in tables:
        with closing(read_tables([table], source.columns.named)) as chunks:
            for chunk in chunks:
                first = chunk if first.rows.is_empty() else first
                if chunk.rows.height:
                    break
    first = replace(first, rows=first.rows.head(ROWS_SHOWN), bad_rows=first.bad_rows[:ROWS_SHOWN])
    rows, bad = _understood(defined, first, now=now) if first.rows.height else ((), first.bad_rows)
    return CheckedSource(
        name=defined.name,
        kind=source.kind,
        tables=tuple(table.name for table in tables),
        rows=rows,
        bad_rows=bad,
        repeated_times=count_repeated(first.rows, source.columns.timestamp, source.time_zone)
        if first.rows.height
        else 0,
        warning=_warning(bad, len(rows), source.max_bad_share),
        watermarks=all_watermarks(data_dir, defined.name),
    )


def _warning(bad: tuple[BadRow, ...], usable: int, largest_share: float) -> str | None:
    try:
        require_few_bad_rows(Imported().with_rejected(bad), usable, largest_share)
    except UnreadableSourceError as error:
        return f"a table of such rows would be refused: {error}"
    return None


def _understood(
    defined: DefinedSource, chunk: Chunk, *, now: datetime
) -> tuple[tuple[dict[str, Any], ...], tuple[BadRow, ...]]:
    now_us = epoch_microseconds(now)
    if defined.source.kind == "visitors":
        read = read_visitors(chunk, visitor_columns(defined.source), now_us=now_us)
        amounts = pl.exclude("^content:.*$")
        return _shown(read.rows.select(amounts)), read.bad_rows
    project = draft_project(
        {"name": "Check", "url": "https://example.com"},
        id="prj_check",
        account_id="acc_check",
        sdk_key="pk_check",
        now=now,
    )
    events = read_source_events(chunk, defined.source, project, now_us=now_us)
    shown = events.events.select("occurred_at", *_EVENT_COLUMNS, *sorted(_segments(events.events)))
    return _shown(shown), events.bad_rows


def _segments(events: pl.DataFrame) -> list[str]:
    names = events.columns[events.columns.index("traffic_source") : events.columns.index("visitor_identity")]
    return [*(name for name in names if events[name].null_count() < events.height), "custom"]


def _shown(rows: pl.DataFrame) -> tuple[dict[str, Any], ...]:
    """Write times in UTC, and leave out what is unknown."""
    at = pl.from_epoch(pl.col("occurred_at"), time_unit="us").dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
    named = rows.select(at.alias("time"), pl.exclude("occurred_at"))
    return tuple(
        {name: value for name, value in row.items() if value is not None} for row in named.to_dicts()
    )
