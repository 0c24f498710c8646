"""Count of a warehouse: its statements run where the rows are, and their sums are published here."""

from dataclasses import replace
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace as with_changes

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.clock import utc_now
from pipeline.imports.exposed_experiments import find_or_draft
from pipeline.imports.import_result import Imported, ImportStores
from pipeline.imports.imported_experiment import ACTOR, run_from_first_to_last_visitor
from pipeline.imports.source_import import ImportedSource
from pipeline.results.outside.outside_sums import OutsideSums
from pipeline.results.outside.publish_sums import SumStores, publish_sums
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.rollup.due import rules_of
from pipeline.sources.definition_files import DefinedSource
from pipeline.sources.watermarks import NEVER_IMPORTED, read_watermarks, write_watermark
from pipeline.store.warehouse import published
from pipeline.warehouse.month_rows import MonthRows
from pipeline.warehouse.statement_sums import read_sums
from pipeline.warehouse.team_warehouse import Asked, TeamWarehouse


class CountStores(ImportStores, SumStores, Protocol):
    """The stores of an import, and those of a publication of sums."""


def count_warehouse(
    store: CountStores, defined: DefinedSource, project: Project, *, run_id: str
) -> ImportedSource:
    """Count the experiments of a warehouse that are not over, and publish their sums: all rows stay there.

    Raises UnreadableSourceError, ImportRefusedError, InvalidDesignError, and what `publish_sums` raises.
    """
    warehouse, now = TeamWarehouse.of(defined), utc_now()
    asked = Asked(project_id=project.id, run_id=run_id)
    rows = warehouse.require_few_rows(asked)
    seen, last = warehouse.seen(asked)
    found = find_or_draft(store, project, warehouse.source, seen, now=now)
    experiments = [
        run_from_first_to_last_visitor(
            store.catalog, one, first=from_epoch_microseconds(seen.first_us[name]), last=None
        )
        for name, one in found.items()
    ]
    data_dir = store.settings.data_dir
    month = MonthRows(
        data_dir=data_dir,
        project_id=project.id,
        source=defined.name,
        most=warehouse.source.max_rows_a_month,
    )
    asked = replace(asked, charge=lambda: month.charge(rows, now=utc_now()))
    sums = sum(
        _count(store, warehouse, project, one, asked, from_epoch_microseconds(last[name]))
        for name, one in zip(found, experiments, strict=True)
        if _is_open(store, one)
    )
    newest = max(map(from_epoch_microseconds, last.values()), default=None)
    charged = read_watermarks(data_dir, project.id).get(defined.name, NEVER_IMPORTED)
    watermark = with_changes(charged, imported_at=now, newest_at=newest, rows=rows)
    write_watermark(data_dir, project.id, defined.name, watermark)
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


def _count(  # noqa: PLR0913, PLR0917 # what is counted where, and who asks
    store: CountStores,
    warehouse: TeamWarehouse,
    project: Project,
    experiment: Experiment,
    asked: Asked,
    last: datetime,
) -> int:
    """Count an experiment, and publish its sums; return how many came back."""
    now = utc_now()
    with store.warehouse.cursor() as cursor:
        record = published.find(cursor, experiment.id)
    current = CountingRules.of(project)
    rules = current if record is None else rules_of(record, current)
    statement = warehouse.statement(experiment, rules, epoch_microseconds(now))
    rows = warehouse.answer(statement.sql(), replace(asked, what=f"sums of {experiment.id}"))
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
