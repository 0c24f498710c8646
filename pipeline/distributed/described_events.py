"""Events of a team's own files, which the files that describe sources give their meaning."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.distributed.event_files import SCHEMA, UnusableEventsError
from pipeline.events.text_hashes import hash_texts
from pipeline.imports.event_contents import CLAIMED_AT, HAS_ID
from pipeline.imports.exposed_experiments import find_named, with_ids
from pipeline.imports.import_result import Imported, require_few_bad_rows
from pipeline.imports.source_import import read_source_events
from pipeline.sources.databases import DatabaseTable
from pipeline.sources.definition import Source
from pipeline.sources.definition_files import InvalidSourceError, read_definition
from pipeline.sources.disk_files import FileTable
from pipeline.sources.lakes import DeltaTable, IcebergTable
from pipeline.sources.tables import Table, UnreadableSourceError, read_tables

# Numbers of events of one table, of which there are fewer.
_NUMBERS: Final = 2**40
# Bytes of a row, where its file does not tell the number of rows: few, for more and smaller parts.
_ROW_BYTES: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedEvents:
    """Rows of a table as events of a project, received as they happened; `number` is that of the table.

    `experiments` are all of the project, and `now_us` is the time of the run (epoch µs).
    """

    table: Table
    source: Source
    project: Project
    experiments: tuple[Experiment, ...]
    number: int
    now_us: int

    @property
    def rows(self) -> int:
        """Number of rows, estimated where the table does not tell it."""
        if isinstance(self.table, FileTable) and self.table.path.suffix.lower() == ".parquet":
            file = pl.scan_parquet(self.table.path, glob=False, hive_partitioning=False)
            return int(file.select(pl.len()).collect().item())
        return self.table.size // _ROW_BYTES

    def read(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Read columns with the types of SCHEMA, in batches.

        Raises UnusableEventsError for a table that cannot be read, has too many unusable rows, or names an
        experiment or a variant that the project does not have.
        """
        usable, imported = 0, Imported()
        try:
            with closing(read_tables([self.table], self.source.columns.named)) as chunks:
                for chunk in chunks:
                    read = read_source_events(chunk, self.source, self.project, now_us=self.now_us)
                    yield self._events(read.events, usable).select(columns)
                    usable += read.events.height
                    imported = imported.with_rejected(read.bad_rows)
            require_few_bad_rows(imported, usable, self.source.max_bad_share)
        except UnreadableSourceError as error:
            raise UnusableEventsError(str(error)) from error

    def _events(self, rows: pl.DataFrame, before: int) -> pl.DataFrame:
        """Complete rows to events; each without an id is one event."""
        own = self._identified(rows) if self.source.kind == "exposures" and rows.height else rows
        number = pl.int_range(pl.len(), dtype=pl.Int64) + (self.number * _NUMBERS + before)
        numbered = own.with_columns(number.alias("seq"), pl.col("occurred_at").alias("received_at"))
        ids = pl.when(HAS_ID).then("event_id").otherwise(pl.format("row-{}", "seq")).alias("event_id")
        named = numbered.with_columns(ids)
        keyed = named.with_columns(hash_texts(named["event_id"]).alias("event_key"))
        return keyed.drop(HAS_ID, CLAIMED_AT).select(
            (pl.col(name) if name in keyed.columns else pl.lit(None).alias(name)).cast(kind)
            for name, kind in SCHEMA.items()
        )

    def _identified(self, rows: pl.DataFrame) -> pl.DataFrame:
        names = rows["experiment_id"].unique().to_list()
        found: Mapping[str, Experiment | None] = {one: find_named(one, self.experiments) for one in names}
        if unknown := sorted(name for name, one in found.items() if one is None):
            raise UnusableEventsError(
                f"{self.table.name} has exposures of {unknown[0][:80]!r}, which the project does not have"
            )
        events = with_ids(rows, {name: one for name, one in found.items() if one is not None})
        lacking = rows.filter(events["variant_id"].is_null())
        if lacking.height:
            experiment, variant = lacking.select("experiment_id", "variant_id").row(0)
            raise UnusableEventsError(
                f"{self.table.name} has exposures to {variant[:80]!r}, which is no variant of {experiment!r}"
            )
        return events


def find_described(
    paths: Sequence[Path], project: Project, experiments: Sequence[Experiment], *, now_us: int
) -> list[DescribedEvents]:
    """Find the tables of files that describe sources of exposures and events, listed once by the caller.

    Raises InvalidSourceError for a source that no cluster counts, and UnreadableSourceError.
    """
    found: list[tuple[Source, Table]] = []
    for path in paths:
        defined = read_definition(path.resolve())
        source = defined.source
        if source.kind not in {"exposures", "events"}:
            raise InvalidSourceError(f"{path.name}: a source of kind {source.kind} has no events; import it")
        if source.project not in {None, project.id}:
            raise InvalidSourceError(f"{path.name}: is of the project {source.project}, not of {project.id}")
        for table in defined.tables():
            if isinstance(table, DatabaseTable | DeltaTable | IcebergTable):
                raise InvalidSourceError(
                    f"{path.name}: {table.name} is no file; name the CSV or Parquet files, on disk or on S3"
                )
            found.append((source, table))
    return [
        DescribedEvents(
            table=table,
            source=source,
            project=project,
            experiments=tuple(experiments),
            number=number,
            now_us=now_us,
        )
        for number, (source, table) in enumerate(found)
    ]
