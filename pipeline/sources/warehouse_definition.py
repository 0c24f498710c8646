"""Definition of a warehouse: tables of exposures and events that are counted where they are."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.sources.definition import Columns, Kind, Source
from pipeline.store.source_databases.queries import SINCE

DialectName: TypeAlias = Literal[
    "duckdb", "postgresql", "clickhouse", "spark", "databricks", "snowflake", "bigquery"
]
_Text = Annotated[str, Field(min_length=1)]
# Keys of a warehouse itself; those of its tables are under `exposures` and `events`.
_KEYS: Final = frozenset(
    (
        *("kind", "location", "project", "dialect", "experiments", "exposures", "events"),
        *("max_rows", "max_rows_a_month", "max_bytes_billed", "timeout_seconds", "state_schema"),
    )
)
_OF_SCHEMES: Final[Mapping[str, DialectName]] = {
    "sc": "spark",
    "spark": "spark",
    "clickhouse": "clickhouse",
    "databricks": "databricks",
    "snowflake": "snowflake",
    "bigquery": "bigquery",
}


def _of_file(location: str) -> DialectName:
    return "duckdb" if location.lower().endswith(".duckdb") else "postgresql"


class WarehouseTable(BaseModel):
    """A table or query of a warehouse, and its columns; `experiment` or `event` where no column has it.

    `arrived` is the column with the time when a row came into the table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: _Text | None = None
    sql: _Text | None = None
    columns: Columns
    experiment: _Text | None = None
    event: _Text | None = None
    arrived: _Text | None = None


class WarehouseSource(Source):
    """A warehouse: its location, and the tables that are counted there by statements in its dialect.

    A count of more than `max_rows` rows is refused, and one that would make the rows that statements read in
    a month, in UTC, more than `max_rows_a_month`. BigQuery refuses a statement that would be billed for more
    than `max_bytes_billed`; one of `max_rows` and it is required. A statement is ended after
    `timeout_seconds`.
    Times without an offset are in UTC. In the `state_schema`, visitors and their events that count are kept
    from night to night.
    """

    kind: Literal["warehouse"]
    location: _Text
    dialect: DialectName | None = None
    max_rows: int | None = Field(default=None, ge=1)
    max_rows_a_month: int | None = Field(default=None, ge=1)
    max_bytes_billed: int | None = Field(default=None, ge=1)
    state_schema: _Text | None = None
    timeout_seconds: int = Field(default=1800, ge=1, le=86_400)
    columns: Columns = Columns()
    exposures: WarehouseTable
    events: tuple[WarehouseTable, ...] = Field(min_length=1)

    @property
    def exposures_source(self) -> Source:
        """The exposures, as a source of its own."""
        return self._part("exposures", self.exposures)

    @property
    def event_sources(self) -> tuple[Source, ...]:
        """The tables of events, each as a source of its own."""
        return tuple(self._part("events", one) for one in self.events)

    @property
    def arrived(self) -> tuple[str, ...]:
        """Columns of arrival, that of the exposures first, where there is a state; none otherwise."""
        names = [one.arrived for one in (self.exposures, *self.events) if one.arrived is not None]
        return tuple(names) if self.state_schema is not None else ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if problems := [*self._problems()]:
            raise ValueError("; ".join(problems))
        return self

    def _part(self, kind: Kind, table: WarehouseTable) -> Source:
        fields = table.model_dump(exclude={"arrived"}, exclude_none=True, exclude_defaults=True)
        own: dict[str, Any] = {"kind": kind, "location": self.location}
        if kind == "exposures":
            own["experiments"] = self.experiments
        return Source.model_validate({**fields, **own})

    @property
    def engine(self) -> DialectName:
        """The dialect that is named, or that of the location."""
        scheme = self.location.partition("://")[0]
        return self.dialect or _OF_SCHEMES.get(scheme) or _of_file(self.location)

    def _problems(self) -> Iterator[str]:
        if self.max_rows is None and self.max_bytes_billed is None:
            yield "max_rows is missing, above which a count is refused"
        if self.max_bytes_billed is not None and self.engine != "bigquery":
            yield "max_bytes_billed is for BigQuery alone; set max_rows"
        yield from (f"{key} is not for kind = 'warehouse'" for key in sorted(self.model_fields_set - _KEYS))
        named = {"exposures": self.exposures} | {
            f"events[{place}]": one for place, one in enumerate(self.events)
        }
        for name, table in named.items():
            if (table.table is None) == (table.sql is None):
                yield f"{name} has a table or sql, and not both"
            if SINCE in (table.sql or ""):
                yield f"{name}: {SINCE} is for imports; every count reads all rows"
            if self.state_schema is not None and table.arrived is None:
                yield f"{name}: arrived is missing, by which state_schema finds new rows"
            if table.columns.user is not None:
                yield (
                    f"{name}: columns.user links ids, which no statement follows; name a column of persons "
                    "as columns.visitor"
                )
            try:
                self._part("exposures" if name == "exposures" else "events", table)
            except ValidationError as error:
                messages = (one["msg"].removeprefix("Value error, ") for one in error.errors())
                yield from (f"{name}: {message}" for message in messages)


def source_from(fields: Mapping[str, Any]) -> Source:
    """Build the source that a file describes; pydantic's ValidationError."""
    model = WarehouseSource if fields.get("kind") == "warehouse" else Source
    return model.model_validate(fields)
