"""Experiments of a source of exposures: found in the project, or drafted as the source describes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from engine.design.drafting import draft_experiment
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import from_epoch_microseconds
from pipeline.imports.import_result import ImportStores
from pipeline.imports.imported_experiment import (
    ACTOR,
    ImportRefusedError,
    is_over,
    require_counted_here,
    require_start,
)
from pipeline.imports.importer import require_few_variants
from pipeline.requests.experiments import create_draft
from pipeline.sources.definition import Source, SourceExperiment
from pipeline.store.catalog.ids import new_id


@dataclass(slots=True)
class SeenExposures:
    """Variants and first time of each experiment, as the rows name them; `first_us` is in epoch µs."""

    variants: dict[str, set[str]] = field(default_factory=dict)
    first_us: dict[str, int] = field(default_factory=dict)

    def add(self, events: pl.DataFrame) -> None:
        """Note the exposures of a chunk."""
        groups = events.group_by("experiment_id").agg(
            pl.col("variant_id").unique(), pl.col("occurred_at").min()
        )
        for name, variants, first_us in groups.iter_rows():
            self.note(name, variants, first_us)

    def note(self, name: str, variants: Iterable[str], first_us: int) -> None:
        """Note exposures to variants of an experiment, and the time of the first (epoch µs)."""
        self.variants.setdefault(name, set()).update(variants)
        self.first_us[name] = min(first_us, self.first_us.get(name, first_us))
        require_few_variants(name, self.variants[name])


def find_or_draft(
    store: ImportStores, project: Project, source: Source, seen: SeenExposures, *, now: datetime
) -> dict[str, Experiment]:
    """Return the experiment of each name that the rows have; all are checked before the first is drafted.

    Raises:
        ImportRefusedError: a name is of no experiment, or of one that lacks a variant of the rows, or that
            could not start. One that is over may lack variants: it takes no further rows.
        InvalidDesignError: an experiment cannot be as the source describes it.
    """
    stored = store.catalog.experiments.of_project(project.id)
    current = [one for one in stored if one.status != "archived"]
    listed = {one.name: one for one in source.experiments}
    found: dict[str, Experiment] = {}
    drafts: dict[str, dict[str, Any]] = {}
    for name, variants in sorted(seen.variants.items()):
        # One that was archived stays so, though the source still lists it.
        experiment = find_named(name, current) or find_named(name, stored)
        if experiment is not None:
            found[name] = experiment
        elif name in listed:
            drafts[name] = draft_fields(listed[name], variants)
            experiment = draft_experiment(
                drafts[name], id=new_id("exp"), project=project, now=now, new_id=new_id, test_key="import"
            )
        else:
            raise ImportRefusedError(
                f"{name[:80]!r} is no experiment of the project; describe it under [[experiments]]"
            )
        if not is_over(experiment):
            if source.kind != "warehouse":
                require_counted_here(store.warehouse, experiment)
            _require_fit(experiment, variants, listed.get(name))
        if experiment.status == "draft":
            require_start(experiment, from_epoch_microseconds(seen.first_us[name]))
    for name, fields in drafts.items():
        found[name] = create_draft(store.catalog, project, fields, now=now, actor=ACTOR)
    return found


def draft_fields(listed: SourceExperiment, variants: set[str]) -> dict[str, Any]:
    """Build the draft of an experiment as the API takes it; ImportRefusedError without its control."""
    if listed.control not in variants:
        raise ImportRefusedError(
            f"no row of {listed.name!r} has the control {listed.control!r}; its variants are "
            f"{', '.join(sorted(variants))}"
        )
    control_first = sorted(variants, key=lambda name: (name != listed.control, name))
    return {
        "variants": [{"name": name, "is_control": name == listed.control} for name in control_first],
        **(listed.model_extra or {}),
        "name": listed.name,
        "goals": [dict(goal) for goal in listed.goals],
    }


def with_ids(events: pl.DataFrame, experiments: Mapping[str, Experiment]) -> pl.DataFrame:
    """Replace the names of experiments and variants by their ids."""
    variants = pl.DataFrame(
        [
            (name, variant.name, variant.id)
            for name, experiment in experiments.items()
            for variant in experiment.variants
        ],
        schema=["experiment_id", "variant_id", "variant"],
        orient="row",
    )
    joined = events.join(variants, on=["experiment_id", "variant_id"], how="left", maintain_order="left")
    ids = {name: experiment.id for name, experiment in experiments.items()}
    return joined.with_columns(pl.col("experiment_id").replace_strict(ids), variant_id="variant").select(
        events.columns
    )


def find_named(name: str, stored: Sequence[Experiment]) -> Experiment | None:
    """Find an experiment by its id or its name; of several of one name the last that was created."""
    by_id = [one for one in stored if one.id == name]
    by_name = sorted((one for one in stored if one.name == name), key=lambda one: one.created_at)
    return next(iter(by_id or by_name[::-1]), None)


def _require_fit(experiment: Experiment, variants: set[str], listed: SourceExperiment | None) -> None:
    has = {variant.name for variant in experiment.variants}
    if lacking := sorted(variants - has):
        raise ImportRefusedError(
            f"'{experiment.name}' has no variant {', '.join(map(repr, lacking))}; "
            f"it has {', '.join(sorted(has))}"
        )
    control = next(variant.name for variant in experiment.variants if variant.is_control)
    if listed is not None and listed.control != control:
        raise ImportRefusedError(
            f"'{experiment.name}' has the control {control!r}, and not {listed.control!r}"
        )
