"""Definition of a source: where its rows are, and what its columns mean."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from engine.time_zones import all_zones, is_timezone
from pipeline.store.source_databases.queries import SINCE, Query

Kind: TypeAlias = Literal["visitors", "exposures", "events", "warehouse"]
_Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Columns(_Part):
    """Names of the columns of a source; `segments` are attributes by which results are filtered."""

    visitor: _Text | None = None
    user: _Text | None = None
    timestamp: _Text | None = None
    variant: _Text | None = None
    unit: _Text | None = None
    experiment: _Text | None = None
    event: _Text | None = None
    event_id: _Text | None = None
    value: _Text | None = None
    revenue: _Text | None = None
    currency: _Text | None = None
    transaction: _Text | None = None
    refund: _Text | None = None
    url: _Text | None = None
    segments: tuple[_Text, ...] = ()

    @property
    def given(self) -> dict[str, str]:
        """Column of each meaning that is given, segments aside."""
        meanings = self.model_dump(exclude={"segments"}, exclude_none=True)
        return {meaning: str(name) for meaning, name in meanings.items()}

    @property
    def named(self) -> list[str]:
        """Every column that is read."""
        return [*self.given.values(), *self.segments]


class SourceExperiment(BaseModel):
    """An experiment that a source of exposures creates: its name, the control, and fields as in the API."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: _Text
    control: _Text
    goals: tuple[Mapping[str, Any], ...] = Field(min_length=1)


# The meanings that a kind takes, those that it needs first.
_NEEDED: Final[Mapping[Kind, tuple[str, ...]]] = {
    "visitors": ("variant",),
    "exposures": ("visitor", "variant", "timestamp"),
    "events": ("timestamp",),
}
_TAKEN: Final[Mapping[Kind, tuple[str, ...]]] = {
    "visitors": ("visitor", "timestamp", "unit"),
    "exposures": ("experiment", "user", "event_id", "url"),
    "events": (
        *("visitor", "user", "event", "event_id", "value", "revenue", "currency", "transaction"),
        *("refund", "url"),
    ),
}
# Keys of the source itself that only one kind takes.
_KEYS_OF: Final[Mapping[str, Kind]] = {
    "name": "visitors",
    "control": "visitors",
    "goals": "visitors",
    "running": "visitors",
    "experiments": "exposures",
    "experiment": "exposures",
    "event": "events",
}


class Source(_Part):
    """A source: its kind, its location, its columns, and what they mean; a source that is wrong is not built.

    Locations are relative to the folder of the file that describes it. `max_bad_share` is the largest share
    of unusable rows with which the others are imported. With `lookback_days` a query reads no rows older than
    so many days before the newest that was imported.
    """

    kind: Kind
    location: _Text | tuple[_Text, ...]
    table: _Text | None = None
    sql: _Text | None = None
    sql_file: _Text | None = None
    project: _Text | None = None
    time_zone: str = "UTC"
    max_bad_share: float = Field(default=0.001, ge=0, le=1)
    # At least the difference between two time zones.
    lookback_days: int | None = Field(default=None, ge=1, le=36_500)
    columns: Columns
    # Of visitors.
    name: _Text | None = None
    control: _Text | None = None
    goals: Mapping[str, Literal["conversion", "revenue"]] = Field(default_factory=dict)
    running: bool = False
    # Of exposures: those to create, and the one of every row where no column names it.
    experiments: tuple[SourceExperiment, ...] = ()
    experiment: _Text | None = None
    # Of events: the name of every event where no column has it.
    event: _Text | None = None

    @property
    def locations(self) -> Sequence[str]:
        """Locations of the tables, which are read as one."""
        return (self.location,) if isinstance(self.location, str) else self.location

    def query(self, base: Path, *, newest_at: datetime | None = None) -> Query | None:
        """Return the query of a database, which reads rows since the lookback before `newest_at`.

        Raises:
            OSError: `sql_file` cannot be read.
            ValueError: `lookback_days` has no place in the query, or the query a place without them.
        """
        if self.table is None and self.sql is None and self.sql_file is None:
            return None
        text = self.sql if self.sql_file is None else (base / self.sql_file).read_text(encoding="utf-8")
        query = Query(table=self.table, sql=text)
        if query.has_since != (self.lookback_days is not None):
            raise ValueError(f"lookback_days and {SINCE} in the query need one another")
        if self.lookback_days is None:
            return query
        return query.since(newest_at and newest_at - timedelta(days=self.lookback_days))

    @property
    def meaning(self) -> str | None:
        """What the events of its rows are known by; None where one that is stored twice counts once.

        That holds for exposures, of which the first counts, and for orders, by their transactions.
        """
        columns = self.columns
        if self.kind != "events" or columns.transaction is not None:
            return None
        if columns.event_id is not None:
            return f"event_id {columns.event_id}"
        parts = {"time_zone": self.time_zone, "event": self.event, **columns.given}
        return ", ".join(f"{name} {part}" for name, part in sorted(parts.items()) if part is not None)

    @property
    def experiment_of_all(self) -> str | None:
        """Name or id of the experiment of every row, None where a column has it."""
        if self.columns.experiment is not None:
            return None
        return self.experiment or self.experiments[0].name

    @field_validator("time_zone")
    @classmethod
    def _exists(cls, name: str) -> str:
        if not is_timezone(name):
            near = get_close_matches(name, all_zones(), n=1, cutoff=0.0)[0]
            raise ValueError(f"{name!r} is no IANA time zone; the nearest name is {near}")
        return name

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if problems := [*self._query_problems(), *self._column_problems(), *self._kind_problems()]:
            raise ValueError("; ".join(problems))
        return self

    def _query_problems(self) -> Iterator[str]:
        given = [key for key in ("table", "sql", "sql_file") if getattr(self, key) is not None]
        if len(given) > 1:
            yield f"{' and '.join(given)} exclude one another"
        if self.lookback_days is not None:
            if self.kind == "visitors":
                yield "lookback_days is for kind = 'exposures' and 'events'"
            if not {"sql", "sql_file"} & {*given}:
                yield f"lookback_days needs sql or sql_file, with {SINCE} where the time is compared"

    def _column_problems(self) -> Iterator[str]:
        given, taken = self.columns.given, (*_NEEDED[self.kind], *_TAKEN[self.kind])
        yield from (f"columns.{meaning} is missing" for meaning in _NEEDED[self.kind] if meaning not in given)
        yield from (
            f"columns.{meaning} has no meaning for {self.kind}" for meaning in given if meaning not in taken
        )
        if len(set(self.columns.named)) < len(self.columns.named):
            yield "one column has two meanings"

    def _kind_problems(self) -> Iterator[str]:
        wrong = (key for key, kind in _KEYS_OF.items() if kind != self.kind and key in self.model_fields_set)
        yield from (f"{key} is for kind = '{_KEYS_OF[key]}'" for key in wrong)
        yield from {
            "visitors": self._of_visitors,
            "exposures": self._of_exposures,
            "events": self._of_events,
        }[self.kind]()

    def _of_visitors(self) -> Iterator[str]:
        if self.control is None:
            yield "control is missing"
        if not self.goals:
            yield "goals is missing"

    def _of_exposures(self) -> Iterator[str]:
        names = [one.name for one in self.experiments]
        if len(set(names)) < len(names):
            yield "two of the experiments have one name"
        if self.columns.experiment is not None:
            if self.experiment is not None:
                yield "experiment and columns.experiment exclude one another"
        elif self.experiment is None and len(names) != 1:
            yield "name the experiment of the rows by columns.experiment, or by experiment"

    def _of_events(self) -> Iterator[str]:
        columns = self.columns
        if columns.visitor is None and columns.user is None:
            yield "columns.visitor or columns.user is missing"
        if (columns.event is None) == (self.event is None):
            yield "name the events by event, or by columns.event, and not by both"
        if columns.value is not None and self.has_money:
            yield "columns.value has no meaning beside revenue, transaction or refund"
        if columns.visitor is None and not self.has_money:
            yield "columns.visitor is missing, which events without revenue need"
        if columns.revenue is None and (columns.currency is not None or columns.refund is not None):
            yield "columns.currency and columns.refund need columns.revenue"

    @property
    def has_money(self) -> bool:
        """Tell whether its events are orders and refunds, and no plain events."""
        columns = self.columns
        return any(one is not None for one in (columns.revenue, columns.transaction, columns.refund))
