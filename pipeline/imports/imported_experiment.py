"""Experiment of a file of visitors: found from an earlier import, or drafted and started."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.imports.tables import UnreadableFileError
from pipeline.imports.visitor_rows import VisitorColumns, VisitorFiles
from pipeline.requests.experiments import create_draft
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse.imports.stored_rows import StoredRowKinds

ACTOR: Final = "import"


class ImportRefusedError(Exception):
    """An import whose rows could not be counted, or not be told from those of an earlier import."""


def find_experiment(
    catalog: Catalog, project: Project, files: VisitorFiles, variants: Sequence[str]
) -> Experiment | None:
    """Find the experiment of that name with the goals of the files and at least their variants.

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
        and {variant.name for variant in one.variants} >= set(variants)
    ]
    if not found:
        return None
    experiment = min(found, key=lambda one: len(one.variants))
    if experiment.status in {"completed", "archived"}:
        raise ImportRefusedError(
            f"'{files.name}' is {experiment.status}, so further rows would not count; "
            "import under another --name"
        )
    return experiment


def draft_for_files(
    catalog: Catalog, project: Project, files: VisitorFiles, variants: Sequence[str], *, now: datetime
) -> Experiment:
    """Draft the experiment of the files; UnreadableFileError where no row has the control."""
    if files.control not in variants:
        raise UnreadableFileError(
            f"no row of '{files.columns.variant}' is the control {files.control!r}; "
            f"it has {', '.join(variants)}"
        )
    control_first = sorted(variants, key=lambda name: name != files.control)
    fields: dict[str, Any] = {
        "name": files.name,
        "variants": [{"name": name, "is_control": name == files.control} for name in control_first],
        "goals": [
            {"name": column, "goal_type": kind, "config": {"event_name": column}}
            for column, kind in files.columns.goals.items()
        ],
    }
    return create_draft(catalog, project, fields, now=now, actor=ACTOR)


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


def start_with_first_visitor(catalog: Catalog, experiment: Experiment, first: datetime) -> Experiment:
    """Start a draft at the time of its first visitor; move an imported start back to an earlier visitor."""

    def decide(current: Experiment) -> Experiment:
        if current.status == "draft":
            # The file is the past: the experiment began with its first visitor.
            return lifecycle.start(replace(current, created_at=first, updated_at=first), now=first)
        if _begins_later(current, first):
            return replace(current, created_at=first, started_at=first)
        return current

    if experiment.status != "draft" and not _begins_later(experiment, first):
        return experiment
    return catalog.experiments.change(experiment.project_id, experiment.id, decide, actor=ACTOR)


def _begins_later(experiment: Experiment, first: datetime) -> bool:
    """Tell whether an import started the experiment, later than that."""
    started = experiment.started_at
    return started is not None and started == experiment.created_at and started > first
