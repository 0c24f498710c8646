"""Snapshot files of one experiment, and its entry in the manifest."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import is_clustered, unit_name, unit_noun
from engine.frames.service_record import UnitsRecord
from engine.local_days import from_epoch_microseconds
from pipeline.rollup.counting_rules import (
    FLAGGED_AS_BOT,
    IDENTITY_CONFLICT,
    SEVERAL_UNITS,
    SEVERAL_VARIANTS,
    WITHOUT_UNIT,
)
from pipeline.rollup.export_selection import exported_visitors
from pipeline.rollup.goals.counted_goals import step_names
from pipeline.rollup.goals.summed_goals import adjusted_goals, attributes_of
from pipeline.snapshots.manifest import (
    SCHEMA_VERSION,
    DataFile,
    SnapshotExperiment,
    SnapshotGoal,
    SnapshotVariant,
)
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import parquet
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.erasure.segment_texts import digest_texts
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.unit_sums import count_mixed_units
from pipeline.store.warehouse.visitor_export import write_visitors
from pipeline.store.warehouse.visitors import column_of, digest_rows, read_columns

# Stored instead of a variant id in the sums of visitors counted in no variant.
# Raise it where files get further columns, so that those of earlier versions are written again.
_COLUMNS_VERSION: Final = 4
_SET_ASIDE: Final = {
    IDENTITY_CONFLICT: "identity_conflict",
    FLAGGED_AS_BOT: "flagged_as_bot",
    SEVERAL_VARIANTS: "several_variants",
    SEVERAL_UNITS: "several_units",
    WITHOUT_UNIT: "without_unit",
}

# Writes a file and returns its number of rows.
Write = Callable[[Path], int]
# Returns the file of a path and content, written by a function unless it is there already.
Place = Callable[[str, str, Write], DataFile]


def write_experiment(  # noqa: PLR0913  # everything that an entry consists of
    cursor: Cursor,
    experiment: Experiment,
    project: Project,
    published: Published,
    *,
    looks: tuple[RecordedLook, ...],
    place: Place,
) -> SnapshotExperiment:
    """Write the published results of an experiment; `cursor` is in the transaction that read `published`."""
    variants = _variants(cursor, experiment, published)
    counts = parquet.visitors_of_variants(cursor, experiment.id)
    named = dict(enumerate(published.variants)) | _SET_ASIDE
    export = exported_visitors(
        experiment,
        project,
        variants=[(variant.id, variant.name) for variant in variants],
        goal_ids=published.goals,
        as_of=from_epoch_microseconds(published.as_of),
        segment={},
        is_published=True,
        with_keys=True,
    )
    rows = digest_rows(cursor, experiment.id), digest_texts(cursor, experiment.id)
    content = _content(experiment, published, variants, (rows, export.observed_until))
    writers: dict[str, Write] = {
        "visitors": lambda path: write_visitors(cursor, export, "parquet", path),
        "orders": partial(parquet.write_orders, cursor, experiment.id, published.goals),
        "aggregates": partial(parquet.write_aggregates, cursor, experiment.id, named, published.goals),
    }
    files = {
        kind: place(f"experiments/{experiment.id}/{kind}-{content}.parquet", content, write)
        for kind, write in writers.items()
    }
    return SnapshotExperiment(
        id=experiment.id,
        name=experiment.name,
        status=experiment.status,
        started_at=experiment.started_at,
        completed_at=experiment.completed_at,
        analysis_method=experiment.analysis_method,
        confidence_level=experiment.confidence_level,
        traffic_strategy=experiment.traffic_strategy,
        weight_epochs=experiment.weight_epochs,
        statistics=experiment.statistics,
        variants=variants,
        goals=_goals(experiment, project, published, read_columns(cursor, experiment.id)),
        covered_seq=published.covered_seq,
        as_of=from_epoch_microseconds(published.as_of),
        several_variants=counts.get(SEVERAL_VARIANTS, 0),
        identity_conflicts=counts.get(IDENTITY_CONFLICT, 0),
        bots=counts.get(FLAGGED_AS_BOT, 0),
        pauses=experiment.pauses,
        ramp=experiment.ramp,
        ramp_steps=experiment.ramp_steps,
        looks=looks,
        units=_units(cursor, experiment, counts),
        **files,
    )


def _units(cursor: Cursor, experiment: Experiment, counts: Mapping[int, int]) -> UnitsRecord | None:
    """Describe the units that are compared; None where visitors are."""
    if not is_clustered(experiment.unit):
        return None
    mixed = count_mixed_units(
        SelectedVisitors.everyone(cursor, experiment.id, variants=len(experiment.variants))
    )
    return UnitsRecord(
        by=unit_name(experiment.unit),
        noun=unit_noun(experiment.unit),
        of_several_variants=mixed.units,
        visitors_of_several=mixed.visitors,
        in_several=counts.get(SEVERAL_UNITS, 0),
        in_none=counts.get(WITHOUT_UNIT, 0),
    )


def _content(
    experiment: Experiment, published: Published, variants: tuple[SnapshotVariant, ...], rows: object
) -> str:
    """Hash all that the files of an experiment depend on, for their names: not how far it is counted."""
    names = [variant.name for variant in variants]
    columns = (_COLUMNS_VERSION, list(DIMENSIONS), attributes_of(experiment))
    inputs = (SCHEMA_VERSION, columns, list(published._replace(covered_seq=0, as_of=0)), names, rows)
    return hashlib.sha256(msgspec.json.encode(inputs)).hexdigest()[:16]


def _variants(cursor: Cursor, experiment: Experiment, published: Published) -> tuple[SnapshotVariant, ...]:
    """List the variants the experiment was counted by; one removed since has its id as its name."""
    visitors = parquet.visitors_of_variants(cursor, experiment.id)
    known = {variant.id: variant for variant in experiment.variants}
    return tuple(
        SnapshotVariant(
            id=variant_id,
            name=known[variant_id].name if variant_id in known else variant_id,
            is_control=variant_id in known and known[variant_id].is_control,
            weight=known[variant_id].weight if variant_id in known else 0.0,
            visitors=visitors.get(number, 0),
        )
        for number, variant_id in enumerate(published.variants)
    )


def _goals(
    experiment: Experiment, project: Project, published: Published, columns: Collection[str]
) -> tuple[SnapshotGoal, ...]:
    """List the goals the experiment was counted by and still has; `columns` are those of visitor rows."""
    known = {goal.id: goal for goal in experiment.goals}
    funnels = [
        goal_id
        for place, goal_id in enumerate(published.goals)
        if column_of(place, "steps") in columns and goal_id in known and step_names(known[goal_id])
    ]
    adjusted = adjusted_goals(experiment, published.goals)
    return tuple(
        SnapshotGoal(
            id=goal.id,
            name=goal.name,
            type=goal.goal_type,
            is_primary=goal.is_primary,
            less_is_better=goal.config.get("direction") == "decrease",
            currency=goal.currency(project.revenue_currency),
            cap_percentile=goal.config.get("cap_percentile"),
            per=str(goal.tracking.get("per", "visitor")),
            measure=goal.measure.word,
            steps=step_names(goal) if goal.id in funnels else (),
            has_orders=goal.measure.is_per_order,
            covariates=experiment.statistics.covariates if goal.id in adjusted else (),
            minimum_effect_percent=goal.config.get("minimum_effect_percent"),
            guardrail_margin_percent=goal.config.get("guardrail_margin_percent"),
            guardrail_margin_absolute=goal.config.get("guardrail_margin_absolute"),
            known_after=goal.known_after,
            q=goal.tracking.get("q"),
            of=goal.tracking.get("of", "visitor"),
        )
        for goal in (known[goal_id] for goal_id in published.goals if goal_id in known)
    )
