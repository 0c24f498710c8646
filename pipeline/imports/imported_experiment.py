"""Experiment of a file of visitors: found from an earlier import, or drafted and started."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.invariants import START_REQUIREMENTS
from engine.design.pauses import Pause
from engine.design.project import Project
from engine.design.units import VISITOR, AttributeUnit, Unit
from engine.errors import TransitionError
from engine.local_days import from_epoch_microseconds
from pipeline.clock import utc_now
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.requests.experiments import create_draft
from pipeline.sources.tables import UnreadableSourceError
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.imports.stored_rows import ImportedInto, StoredRowKinds, find_last_exposure

ACTOR: Final = "import"


class ImportRefusedError(Exception):
    """An import whose rows could not be counted, or not be told from those of an earlier import."""


def require_counted_here(warehouse: Warehouse, experiment: Experiment) -> None:
    """Raise ImportRefusedError where the visitors of an experiment are counted outside of this service."""
    with warehouse.cursor() as cursor:
        record = published.find(cursor, experiment.id)
    if record is not None and record.sums_from is not None:
        raise ImportRefusedError(
            f"the visitors of '{experiment.name}' are counted by {record.sums_from}, which hands in their "
            "sums; rows do not add to them"
        )


def find_experiment(
    catalog: Catalog, project: Project, files: VisitorTables, variants: Sequence[str]
) -> Experiment | None:
    """Find the experiment of that name with the goals and the unit of the files and at least their variants.

    Of several, it is the one with the fewest variants.

    Raises:
        ImportRefusedError: the experiment is over, so that its results are frozen.
    """
    goals = {(column, kind == "revenue") for column, kind in files.columns.goals.items()}
    found = [
        one
        for one in catalog.experiments.of_project(project.id)
        if one.name == files.name
        and {(goal.name, goal.goal_type == "revenue") for goal in one.goals} == goals
        and one.unit == _unit_of(files)
        and {variant.name for variant in one.variants} >= set(variants)
    ]
    if not found:
        return None
    experiment = min(found, key=lambda one: len(one.variants))
    if is_over(experiment):
        raise ImportRefusedError(
            f"'{files.name}' is {experiment.status}, so further rows would not count; "
            "import under another --name"
        )
    return experiment


def draft_for_files(
    catalog: Catalog, project: Project, files: VisitorTables, variants: Sequence[str], *, now: datetime
) -> Experiment:
    """Draft the experiment of the files.

    Raises:
        UnreadableSourceError: no row has the control.
        ImportRefusedError: all rows have the control, so that the experiment could not start.
    """
    if files.control not in variants:
        raise UnreadableSourceError(
            f"no row of '{files.columns.variant}' is the control {files.control!r}; "
            f"it has {', '.join(variants)}"
        )
    if len(variants) < START_REQUIREMENTS["variants"]:
        raise ImportRefusedError(
            f"all rows of '{files.columns.variant}' are the control {files.control!r}; "
            "import them once a row has another variant"
        )
    control_first = sorted(variants, key=lambda name: name != files.control)
    unit = {} if files.columns.unit is None else {"unit": {"attribute": files.columns.unit}}
    fields: dict[str, Any] = {
        "name": files.name,
        **unit,
        "variants": [{"name": name, "is_control": name == files.control} for name in control_first],
        "goals": [
            {"name": column, "goal_type": kind, "config": {"event_name": column}}
            for column, kind in files.columns.goals.items()
        ],
    }
    return create_draft(catalog, project, fields, now=now, actor=ACTOR)


def _unit_of(files: VisitorTables) -> Unit:
    return VISITOR if files.columns.unit is None else AttributeUnit(attribute=files.columns.unit)


def require_control(experiment: Experiment, control: str) -> None:
    """Raise ImportRefusedError where the experiment has another control."""
    current = next(variant.name for variant in experiment.variants if variant.is_control)
    if current != control:
        raise ImportRefusedError(
            f"'{experiment.name}' has the control {current!r}; give --control {current}, "
            "or import under another --name"
        )


def require_same_columns(experiment: Experiment, stored: StoredRowKinds, columns: VisitorColumns) -> None:
    """Raise ImportRefusedError where rows of the file and stored ones could not be told apart.

    That is so where only one of them has visitor ids, or only one has times.
    """
    for option, is_given, without in (
        ("--visitor", columns.visitor is not None, stored.anonymous),
        ("--timestamp", columns.timestamp is not None, stored.untimed),
    ):
        other = without if is_given else stored.rows - without
        if other:
            before, now = ("without", "with") if is_given else ("with", "without")
            raise ImportRefusedError(
                f"'{experiment.name}' was imported {before} {option}, and {now} it no row is known again; "
                f"import {before} {option}, or under another --name"
            )


def find_last_visit(cursor: Cursor, experiment: Experiment) -> datetime | None:
    """Find the time of the last stored exposure of an experiment; None without any."""
    last_us = find_last_exposure(cursor, ImportedInto(experiment.project_id, experiment.id))
    return None if last_us is None else from_epoch_microseconds(last_us)


def run_from_first_to_last_visitor(
    catalog: Catalog, experiment: Experiment, *, first: datetime, last: datetime | None
) -> Experiment:
    """Start a draft at the time of its first visitor, paused from the last one up to now.

    An imported start is moved back to an earlier visitor, and the pause of an earlier import to later ones.
    All of it is one change: without the pause, a look in between would count the gap for good.
    """
    if is_over(experiment):
        return experiment

    def decide(current: Experiment) -> Experiment:
        if current.status == "draft":
            # The file is the past: the experiment began with its first visitor.
            current = lifecycle.start(replace(current, created_at=first, updated_at=first), now=first)
        elif _begins_later(current, first):
            current = replace(current, created_at=first, started_at=first)
        return _paused_since(current, last, now=utc_now())

    return catalog.experiments.change(experiment.project_id, experiment.id, decide, actor=ACTOR)


def pause_since_last_visitor(
    catalog: Catalog, experiment: Experiment, *, last: datetime | None, now: datetime
) -> Experiment:
    """Record the time from the last visitor to the import as a pause, which the plan does not count.

    Pauses that end after that visitor, as that of an earlier import, are replaced. Nothing changes where no
    visitor was counted, or the experiment is not running.
    """
    if last is None or last >= now or experiment.status != "running":
        return experiment
    return catalog.experiments.change(
        experiment.project_id, experiment.id, lambda one: _paused_since(one, last, now=now), actor=ACTOR
    )


def is_over(experiment: Experiment) -> bool:
    """Tell whether the results of the experiment are frozen, so that no further row counts."""
    return experiment.status in {"completed", "archived"}


def require_start(experiment: Experiment, first: datetime) -> None:
    """Raise ImportRefusedError where a draft could not start with its first visitor."""
    try:
        lifecycle.start(experiment, now=first)
    except TransitionError as error:
        lacks = "; ".join(problem.message for problem in error.problems)
        raise ImportRefusedError(f"{error}, which an import does: {lacks}") from error


def _paused_since(experiment: Experiment, last: datetime | None, *, now: datetime) -> Experiment:
    if last is None or last >= now or experiment.status != "running":
        return experiment
    earlier = (one for one in experiment.pauses if one.ended_at and one.ended_at <= last)
    return replace(experiment, pauses=(*earlier, Pause(started_at=last, ended_at=now)))


def _begins_later(experiment: Experiment, first: datetime) -> bool:
    """Tell whether an import started the experiment, which is not over, later than that."""
    started = experiment.started_at
    is_later = started is not None and started == experiment.created_at and started > first
    return is_later and not is_over(experiment)
