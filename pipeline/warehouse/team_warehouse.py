"""Warehouse of a team: its statements, and their answers within its limits of time and rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from math import ceil
from time import monotonic, sleep
from typing import Any, Final

from sqlglot import exp

from engine.design.experiment import Experiment
from pipeline.imports.exposed_experiments import SeenExposures
from pipeline.rollup.counting_rules import CountingRules
from pipeline.sources.databases import DatabaseTable
from pipeline.sources.definition_files import DefinedSource
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import LINE, UnreadableSourceError
from pipeline.sources.warehouse_definition import WarehouseSource
from pipeline.store.source_databases.queries import Query, RunStatement, SourceDatabaseError
from pipeline.warehouse.dialects.dialect import Dialect
from pipeline.warehouse.dialects.dialect_table import DIALECTS
from pipeline.warehouse.expressions import num
from pipeline.warehouse.goal_rules import UncountableError
from pipeline.warehouse.statement import Statement, outcomes_of, statement_of
from pipeline.warehouse.team_tables import TeamTables, UnreadableQueryError, row_count, seen_exposures
from pipeline.warehouse.visitor_outcomes import VisitorOutcomes

Row = tuple[Any, ...]
# A server that restarts is back by then.
RETRY_SECONDS: Final = 2.0
_LEAST_SECONDS: Final = 0.001


def _charge_nothing() -> None:
    """Charge no rows: those of statements that do not count."""


def _note_nothing(_: int) -> None:
    """Note no bytes: nobody asks for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A statement as its comment names it, with the charge of the rows that it reads.

    `note_billed` takes the bytes that were billed, where the engine tells, or would be, of a statement that
    `is_planned` alone.
    """

    project_id: str
    run_id: str
    what: str = ""
    charge: Callable[[], None] = _charge_nothing
    note_billed: Callable[[int], None] = _note_nothing
    is_planned: bool = False
    was_retried: bool = False


@dataclass(frozen=True, slots=True)
class TeamWarehouse:
    """A described warehouse: its source, its dialect, and the rows that its statements answer."""

    defined: DefinedSource
    source: WarehouseSource

    @classmethod
    def of(cls, defined: DefinedSource) -> "TeamWarehouse":
        """Take a source of kind `warehouse`; UnreadableSourceError for another one."""
        if not isinstance(defined.source, WarehouseSource):
            raise UnreadableSourceError(f"{defined.name} is of kind {defined.source.kind}, and no warehouse")
        return cls(defined, defined.source)

    @property
    def tables(self) -> TeamTables:
        """Exposures and events."""
        return TeamTables(exposures=self.source.exposures_source, events=self.source.event_sources)

    @property
    def dialect(self) -> Dialect:
        """The dialect that the file names, or that of its location."""
        return DIALECTS[self.source.engine]

    def in_dialect(self, name: str) -> "TeamWarehouse":
        """Write its statements in another dialect, of the DIALECTS."""
        return TeamWarehouse(self.defined, self.source.model_copy(update={"dialect": name}))

    def answer(self, sql: str, asked: "Asked") -> list[Row]:
        """Run a statement where the rows are, without a right to write, and once more if the connection ends.

        Both take `timeout_seconds` at most, and each is charged; UnreadableSourceError.
        """
        ends = monotonic() + self.source.timeout_seconds
        while True:
            asked.charge()
            try:
                return self._read(sql, asked, max(ends - monotonic(), _LEAST_SECONDS))
            except UnreadableSourceError as error:
                cause = error.__cause__
                is_lost = isinstance(cause, SourceDatabaseError) and cause.is_lost
                if not is_lost or asked.was_retried or monotonic() + RETRY_SECONDS >= ends:
                    raise
            sleep(RETRY_SECONDS)
            asked = replace(asked, was_retried=True)

    @contextmanager
    def writing(self, asked: "Asked") -> Iterator[RunStatement]:
        """Run statements that write to `state_schema`, in one transaction; UnreadableSourceError."""
        asked.charge()
        (table,) = find_tables(
            [self.source.location],
            query=self._query(exp.select(num(1)).sql(), asked, self.source.timeout_seconds),
            base=self.defined.folder,
        )
        if not isinstance(table, DatabaseTable):
            raise UnreadableSourceError(f"{table.name} is no database")
        with table.writing() as run:
            yield run

    def outcomes(self, experiment: Experiment, rules: CountingRules, now_us: int) -> VisitorOutcomes:
        """Build the outcomes of an experiment's visitors, with the times when rows came."""
        tables = replace(self.tables, arrived=self.source.arrived)
        return outcomes_of(tables, experiment, rules, self.dialect, now_us=now_us)

    def _query(self, sql: str, asked: "Asked", seconds: float) -> Query:
        return Query(
            sql=sql,
            comment=f"truelift {asked.project_id} {asked.run_id} {asked.what}",
            session=self.dialect.session(ceil(seconds)),
            timeout_seconds=seconds,
            most_bytes=self.source.max_bytes_billed,
            is_planned=asked.is_planned,
            on_billed=asked.note_billed,
        )

    def _read(self, sql: str, asked: "Asked", seconds: float) -> list[Row]:
        query = self._query(sql, asked, seconds)
        (table,) = find_tables([self.source.location], query=query, base=self.defined.folder)
        # Whatever ends the reading, its session is closed with it.
        with closing(table.read()) as chunks:
            return [row for chunk in chunks for row in chunk.rows.drop(LINE, strict=False).iter_rows()]

    def require_few_rows(self, asked: "Asked") -> int:
        """Return how many rows are to be counted; UnreadableSourceError where they are more than max_rows."""
        counted = row_count(self.tables, self.dialect).sql(self.dialect.name)
        rows = sum(int(number) for (number,) in self.answer(counted, replace(asked, what="rows")))
        if self.source.max_rows is not None and rows > self.source.max_rows:
            raise UnreadableSourceError(
                f"{self.defined.name} has {rows:,} rows, and max_rows is {self.source.max_rows:,}: read "
                "fewer of them, by sql with a condition on the time, or allow more"
            )
        return rows

    def seen(self, asked: "Asked") -> tuple[SeenExposures, dict[str, int]]:
        """Return the experiments and variants of the exposures, and the last exposure of each experiment."""
        seen, last = SeenExposures(), dict[str, int]()
        sql = seen_exposures(self.tables, self.dialect).sql(self.dialect.name)
        for name, variant, first_us, last_us in self.answer(sql, replace(asked, what="variants")):
            seen.note(str(name), [str(variant)], int(first_us))
            last[str(name)] = max(int(last_us), last.get(str(name), 0))
        return seen, last

    def statement(self, counted: Sequence[tuple[Experiment, CountingRules]], now_us: int) -> Statement:
        """Build the statement of experiments; UnreadableSourceError where its dialect cannot count one."""
        try:
            return statement_of(self.tables, counted, self.dialect, now_us=now_us)
        except (UncountableError, UnreadableQueryError) as error:
            raise UnreadableSourceError(str(error)) from error
