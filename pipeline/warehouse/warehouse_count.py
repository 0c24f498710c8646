"""Count of a warehouse: its statements run where the rows are, and their sums are published here."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from msgspec.structs import replace as with_changes

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.errors import EngineError
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
from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.watermarks import NEVER_IMPORTED, read_watermarks, write_watermark
from pipeline.store.warehouse import published
from pipeline.warehouse.goal_rules import UncountableError, goal_rules
from pipeline.warehouse.month_rows import MonthRows
from pipeline.warehouse.state_tables import StateTables, remove_other_states
from pipeline.warehouse.statement import Statement
from pipeline.warehouse.statement_sums import read_sums
from pipeline.warehouse.team_warehouse import Asked, Row, TeamWarehouse

# A statement has a part of each, and engines bound its length.
MOST_TOGETHER: Final = 20
Counted = tuple[Experiment, CountingRules]
logger = logging.getLogger(__name__)


class CountStores(ImportStores, SumStores, Protocol):
    """The stores of an import, and those of a publication of sums."""


def count_warehouse(
    store: CountStores, defined: DefinedSource, project: Project, *, run_id: str
) -> ImportedSource:
    """Count the experiments of a warehouse that are not over, and publish their sums: all rows stay there.

    Raises UnreadableSourceError, ImportRefusedError, InvalidDesignError, and what `publish_sums` raises.
    """
    warehouse, now = TeamWarehouse.of(defined), utc_now()
    billed = list[int]()
    asked = Asked(project_id=project.id, run_id=run_id, note_billed=billed.append)
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
    exposed = [
        (one, from_epoch_microseconds(last[name]))
        for name, one in zip(found, experiments, strict=True)
        if _is_open(store, one)
    ]
    sums, drifted = _count(store, warehouse, project, exposed, asked)
    newest = max(map(from_epoch_microseconds, last.values()), default=None)
    charged = read_watermarks(data_dir, project.id).get(defined.name, NEVER_IMPORTED)
    bytes_billed = sum(billed) if billed else None
    watermark = with_changes(charged, imported_at=now, newest_at=newest, rows=rows, bytes_billed=bytes_billed)
    write_watermark(data_dir, project.id, defined.name, watermark)
    return ImportedSource(
        name=defined.name,
        imported=Imported(known_rows=rows),
        experiments=tuple(experiments),
        watermark=watermark,
        sums=sums,
        drift=drifted,
    )


def _is_open(store: CountStores, experiment: Experiment) -> bool:
    """Tell whether sums of an experiment still change."""
    with store.warehouse.cursor() as cursor:
        record = published.find(cursor, experiment.id)
    return experiment.status != "archived" and (record is None or not record.is_final)


def _count(
    store: CountStores,
    warehouse: TeamWarehouse,
    project: Project,
    exposed: Sequence[tuple[Experiment, datetime]],
    asked: Asked,
) -> tuple[int, tuple[str, ...]]:
    """Count experiments, each with its last exposure, and publish their sums.

    Return how many sums came back, and the ids of experiments whose state had drifted.

    One that cannot be counted or published keeps no other from it: its error is raised when all are done.
    """
    now, sums, drifted = utc_now(), 0, list[str]()
    countable, errors = _countable(store, warehouse, project, [one for one, _ in exposed])
    last_exposures = {one.id: last for one, last in exposed}
    rules_of_each = {one.id: rules for one, rules in countable}
    answers = _from_state if warehouse.source.state_schema else _from_events
    for answer in answers(warehouse, countable, asked, epoch_microseconds(now)):
        sums += len(answer.rows)
        drifted += [one.id for one in answer.statement.experiments if answer.has_drifted]
        counted = zip(answer.statement.experiments, read_sums(answer.statement, answer.rows), strict=True)
        for one, found in counted:
            outside = OutsideSums(
                source=warehouse.defined.name,
                fingerprint=fingerprint(one, rules_of_each[one.id]),
                watermark=now,
                cells=found.cells,
                products=found.products,
                last_exposed_at=last_exposures[one.id],
            )
            try:
                publish_sums(store, project, one.id, outside, actor=ACTOR, now=utc_now())
            except EngineError as error:
                errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else UnreadableSourceError("; ".join(map(str, errors)))
    return sums, tuple(drifted)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Rows of a statement; `has_drifted` where a count of everything had others than the state."""

    statement: Statement
    rows: Sequence[Row]
    has_drifted: bool = False


def _from_events(
    warehouse: TeamWarehouse, countable: Sequence[Counted], asked: Asked, now_us: int
) -> Iterator[_Answer]:
    """Count everything anew, many experiments at once."""
    for first in range(0, len(countable), MOST_TOGETHER):
        statement = warehouse.statement(countable[first : first + MOST_TOGETHER], now_us)
        what = f"sums of {' '.join(one.id for one in statement.experiments)}"
        yield _Answer(statement, warehouse.answer(statement.sql(), replace(asked, what=what)))


def _from_state(
    warehouse: TeamWarehouse, countable: Sequence[Counted], asked: Asked, now_us: int
) -> Iterator[_Answer]:
    """Count the visitors of whom rows came, of each experiment in a transaction of its own."""
    schema, owner = warehouse.source.state_schema or "", (asked.project_id, warehouse.defined.name)
    for one, rules in countable:
        state = StateTables(outcomes=warehouse.outcomes(one, rules, now_us), schema=schema, owner=owner)
        with warehouse.writing(replace(asked, what=f"state of {one.id}")) as run:
            answer = _Answer(*state.count(run, now_us=now_us))
        if answer.has_drifted:
            logger.error("the state of %s in %s differed from all rows", one.id, warehouse.defined.name)
        yield answer
    with warehouse.writing(Asked(project_id=asked.project_id, run_id=asked.run_id, what="states")) as run:
        remove_other_states(run, warehouse.dialect, schema, owner, [one.id for one, _ in countable])


def _countable(
    store: CountStores, warehouse: TeamWarehouse, project: Project, experiments: Iterable[Experiment]
) -> tuple[list[Counted], list[Exception]]:
    """Return the experiments that SQL can count, with their rules, and the errors of the others."""
    found, errors = list[Counted](), list[Exception]()
    for one in experiments:
        rules = _rules(store, project, one)
        try:
            goal_rules(one, rules, warehouse.tables.events)
        except UncountableError as error:
            errors.append(UnreadableSourceError(str(error)))
        else:
            found.append((one, rules))
    return found, errors


def _rules(store: CountStores, project: Project, experiment: Experiment) -> CountingRules:
    """Return the rules that an experiment is counted by."""
    with store.warehouse.cursor() as cursor:
        record = published.find(cursor, experiment.id)
    current = CountingRules.of(project)
    return current if record is None else rules_of(record, current)
