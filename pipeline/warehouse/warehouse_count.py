"""Count of a warehouse: its statements run where the rows are, and their sums are published here."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.clock import utc_now
from pipeline.imports.exposed_experiments import SeenExposures, find_or_draft
from pipeline.imports.import_result import Imported, ImportStores
from pipeline.imports.imported_experiment import ACTOR, run_from_first_to_last_visitor
from pipeline.imports.source_import import ImportedSource
from pipeline.results.outside.outside_sums import OutsideSums
from pipeline.results.outside.publish_sums import SumStores, publish_sums
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.rollup.due import rules_of
from pipeline.sources.definition_files import DefinedSource
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import LINE, UnreadableSourceError
from pipeline.sources.warehouse_definition import WarehouseSource
from pipeline.sources.watermarks import Watermark, write_watermark
from pipeline.store.source_databases.queries import Query
from pipeline.store.warehouse import published
from pipeline.warehouse.dialects.dialect import Dialect
from pipeline.warehouse.dialects.dialect_table import DIALECTS
from pipeline.warehouse.goal_rules import UncountableError
from pipeline.warehouse.statement import Statement, statement_of
from pipeline.warehouse.statement_sums import read_sums
from pipeline.warehouse.team_tables import (
    TeamTables,
    UnreadableQueryError,
    row_count,
    seen_exposures,
)

Row = tuple[Any, ...]


class CountStores(ImportStores, SumStores, Protocol):
    """The stores of an import, and those of a publication of sums."""


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
        if self.source.dialect is not None:
            return DIALECTS[self.source.dialect]
        is_file = self.source.location.lower().endswith(".duckdb")
        return DIALECTS["duckdb" if is_file else "postgresql"]

    def in_dialect(self, name: str) -> "TeamWarehouse":
        """Write its statements in another dialect, of the DIALECTS."""
        return TeamWarehouse(self.defined, self.source.model_copy(update={"dialect": name}))

    def answer(self, sql: str, project_id: str, what: str) -> Iterator[Row]:
        """Run a statement where the rows are, without a right to write; UnreadableSourceError."""
        comment = f"/* truelift: {what} of the project {project_id} */"
        query = Query(sql=f"{comment} {sql}")
        for table in find_tables([self.source.location], query=query, base=self.defined.folder):
            for chunk in table.read():
                yield from chunk.rows.drop(LINE, strict=False).iter_rows()

    def require_few_rows(self, project_id: str) -> int:
        """Return how many rows are to be counted; UnreadableSourceError where they are more than max_rows."""
        counted = row_count(self.tables, self.dialect).sql(self.dialect.name)
        rows = sum(int(number) for (number,) in self.answer(counted, project_id, "rows"))
        if rows > self.source.max_rows:
            raise UnreadableSourceError(
                f"{self.defined.name} has {rows:,} rows, and max_rows is {self.source.max_rows:,}: read "
                "fewer of them, by sql with a condition on the time, or allow more"
            )
        return rows

    def seen(self, project_id: str) -> tuple[SeenExposures, dict[str, int]]:
        """Return the experiments and variants of the exposures, and the last exposure of each experiment."""
        seen, last = SeenExposures(), dict[str, int]()
        sql = seen_exposures(self.tables, self.dialect).sql(self.dialect.name)
        for name, variant, first_us, last_us in self.answer(sql, project_id, "variants"):
            seen.note(str(name), [str(variant)], int(first_us))
            last[str(name)] = max(int(last_us), last.get(str(name), 0))
        return seen, last

    def statement(self, experiment: Experiment, rules: CountingRules, now_us: int) -> Statement:
        """Build the statement of an experiment; UnreadableSourceError where its dialect cannot count it."""
        try:
            return statement_of(self.tables, experiment, rules, self.dialect, now_us=now_us)
        except (UncountableError, UnreadableQueryError) as error:
            raise UnreadableSourceError(str(error)) from error


def count_warehouse(store: CountStores, defined: DefinedSource, project: Project) -> ImportedSource:
    """Count the experiments of a warehouse that are not over, and publish their sums: all rows stay there.

    Raises UnreadableSourceError, ImportRefusedError, InvalidDesignError, and what `publish_sums` raises.
    """
    warehouse, now = TeamWarehouse.of(defined), utc_now()
    rows = warehouse.require_few_rows(project.id)
    seen, last = warehouse.seen(project.id)
    found = find_or_draft(store, project, warehouse.source, seen, now=now)
    experiments = [
        run_from_first_to_last_visitor(
            store.catalog, one, first=from_epoch_microseconds(seen.first_us[name]), last=None
        )
        for name, one in found.items()
    ]
    sums = sum(
        _count(store, warehouse, project, one, from_epoch_microseconds(last[name]))
        for name, one in zip(found, experiments, strict=True)
        if _is_open(store, one)
    )
    newest = max(map(from_epoch_microseconds, last.values()), default=None)
    watermark = Watermark(imported_at=now, newest_at=newest, rows=rows, new_rows=0, rejected=0)
    write_watermark(store.settings.data_dir, project.id, defined.name, watermark)
    return ImportedSource(
        name=defined.name,
        imported=Imported(known_rows=rows),
        experiments=tuple(experiments),
        watermark=watermark,
        sums=sums,
    )


def _is_open(store: CountStores, experiment: Experiment) -> bool:
    """Tell whether sums of an experiment still change."""
    with store.warehouse.cursor() as cursor:
        record = published.find(cursor, experiment.id)
    return experiment.status != "archived" and (record is None or not record.is_final)


def _count(
    store: CountStores, warehouse: TeamWarehouse, project: Project, experiment: Experiment, last: datetime
) -> int:
    """Count an experiment, and publish its sums; return how many came back."""
    now = utc_now()
    with store.warehouse.cursor() as cursor:
        record = published.find(cursor, experiment.id)
    current = CountingRules.of(project)
    rules = current if record is None else rules_of(record, current)
    statement = warehouse.statement(experiment, rules, epoch_microseconds(now))
    rows = [*warehouse.answer(statement.sql(), project.id, f"sums of {experiment.id}")]
    found = read_sums(statement, experiment, rows)
    sums = OutsideSums(
        source=warehouse.defined.name,
        fingerprint=fingerprint(experiment, rules),
        watermark=now,
        cells=found.cells,
        products=found.products,
        last_exposed_at=last,
    )
    publish_sums(store, project, experiment.id, sums, actor=ACTOR, now=now)
    return len(rows)
