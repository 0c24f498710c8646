"""Reader of snapshots for notebooks: lazy Polars frames of visitors, events and sums."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

import polars as pl

from engine.currencies import minor_unit_digits, minor_units
from engine.design.analysis_settings import PRE_PERIOD
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Count, Funnel, Quantile, Ratio, Retained, Revenue, Value
from engine.measures.measure_table import CONFIG_MEASURES
from engine.validation.named_records import find_named
from engine.vocabulary import Summed
from pipeline.snapshots.analysis_arguments import BEFORE, ORDERS, UNIT, analysis_arguments
from pipeline.snapshots.files import digest_of
from pipeline.snapshots.manifest import (
    MANIFEST,
    DataFile,
    Manifest,
    SnapshotExperiment,
    SnapshotGoal,
    UnreadableSnapshotError,
    read_manifest,
)
from pipeline.store.event_columns import DIMENSIONS

# Columns of a visitor besides those of goals, before the segments.
_VISITOR_COLUMNS: Final = ("visitor_key", "visitor_id", "variant", "variant_id", "first_exposed_at")
# Further columns of a goal, named after it.
_FURTHER: Final = ("revenue", "converted", "at", "numerator", "denominator", "known", ORDERS, BEFORE)
# Kinds of goals with amounts, by what is summed up.
_AMOUNTS: Final[Mapping[Summed, type[FrameGoal]]] = {"count": Count, "value": Value}


def open_snapshot(folder: str | Path, project: str | None = None) -> "Snapshot":
    """Open the newest snapshot in `folder`: of the project with the id or name `project`, or the only one.

    It does not change while newer ones are written; its files stay until the second snapshot after it.
    Raises UnreadableSnapshotError if there is none, or more than one.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        return Snapshot(folder, read_manifest(folder))
    snapshots = [
        Snapshot(path.parent, read_manifest(path.parent)) for path in sorted(folder.glob(f"*/{MANIFEST}"))
    ]
    matching = [one for one in snapshots if project in {None, one.project_id, one.project_name}]
    if len(matching) == 1:
        return matching[0]
    if not snapshots:
        raise UnreadableSnapshotError(f"there is no snapshot in {folder}; give the folder of the snapshots")
    projects = ", ".join(f"{one.project_id} ({one.project_name})" for one in snapshots)
    if matching:
        raise UnreadableSnapshotError(f"{folder} has snapshots of several projects; name one of {projects}")
    raise UnreadableSnapshotError(f"{folder} has no snapshot of project {project!r}; there are: {projects}")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Snapshot of one project. Experiments are given by name or id; KeyError for unknown ones."""

    folder: Path
    manifest: Manifest

    @property
    def project_id(self) -> str:
        """Id of the project."""
        return self.manifest.project_id

    @property
    def project_name(self) -> str:
        """Name of the project."""
        return self.manifest.project_name

    @property
    def experiments(self) -> pl.DataFrame:
        """One row per experiment: `name`, `id`, `status`, `variants`, `goals`, `visitors`, `as_of`."""
        rows = [
            {
                "name": one.name,
                "id": one.id,
                "status": one.status,
                "variants": [variant.name for variant in one.variants],
                "goals": [goal.name for goal in one.goals],
                "visitors": one.visitors.rows,
                "as_of": one.as_of,
            }
            for one in self.manifest.experiments
        ]
        texts = pl.List(pl.String)
        return pl.DataFrame(
            rows,
            schema={
                "name": pl.String,
                "id": pl.String,
                "status": pl.String,
                "variants": texts,
                "goals": texts,
                "visitors": pl.Int64,
                "as_of": pl.Datetime("us", "UTC"),
            },
        )

    def experiment(self, name: str) -> SnapshotExperiment:
        """Find an experiment's entry in the manifest, by its name or id."""
        missing = f"no experiment {name!r} was counted yet"
        return find_named(self.manifest.experiments, name, missing=missing)

    def visitors(self, experiment: str) -> pl.LazyFrame:
        """Scan the visitors counted, one row each, in the order of first exposure.

        `variant` is the name of the variant; segments have the API's names. Each goal has the column that is
        analyzed, under its name: true for a conversion, for a revenue goal the revenue less refunds, in
        major units such as dollars, or the amount of the goal's measure; a ratio has `<name>: numerator` and
        `<name>: denominator` instead, a funnel a column of each step, such as `<name>: 1. cart`, true for
        visitors who reached it, and a retained goal is null until its days are over. A quantile is null
        without a value and until its window is over, and a list where it is of events, of values within 1%.
        `<name>: known` is true once the window of a goal is over. Where CUPED adjusts by it, `<name>: before`
        is the goal's value before the first exposure, capped as the goal is, and custom dimensions by which
        it adjusts are `custom:<key>`.
        `<name>: revenue` and `<name>: converted` are those of the others, `<name>: at` the time of the first
        conversion.
        `goal_columns` lists the names. Where units are compared, `unit` is the visitor's.
        """
        entry = self.experiment(experiment)
        names = _goal_names(entry.goals)
        counted = pl.scan_parquet(self.path(entry.visitors), glob=False)
        of_goals = (column for goal in entry.goals for column in _columns_of(goal, names[goal.id]))
        kinds = (
            *(
                "converted_at",
                "revenue_cents",
                "amount",
                "values",
                "denominator",
                "observed",
                "steps",
                ORDERS,
                BEFORE,
            ),
        )
        taken = {f"{goal.id}_{what}" for goal in entry.goals for what in kinds}
        segments = [
            name
            for name in counted.collect_schema().names()
            if name not in {*taken, *_VISITOR_COLUMNS, "variant_name"}
        ]
        return counted.rename({"variant_name": "variant"}).select(*_VISITOR_COLUMNS, *of_goals, *segments)

    def goal_columns(self, experiment: str) -> dict[str, FrameGoal]:
        """Map the goals' names, which are those of columns of `visitors`, to goals, the primary one first.

        They have their options, but for caps, orders and covariates.
        """
        goals = self.experiment(experiment).goals
        names = _goal_names(goals)
        in_order = sorted(goals, key=lambda goal: not goal.is_primary)
        return {names[goal.id]: _goal_of(goal, names[goal.id]) for goal in in_order}

    def analysis(self, experiment: str) -> dict[str, Any]:
        """Build the arguments of `analyze_frame` besides `visitors`, as the service judged at the snapshot.

        They are the experiment's settings, its times and pauses, and the looks recorded by then. Variants
        without visitors are left out, and so is `prior: pre_period`, which needs more than one row of each.
        Raises ValueError for an experiment without goals, or without visitors in the control.
        """
        entry = self.experiment(experiment)
        return analysis_arguments(
            entry, self.manifest, _goal_names(entry.goals), self.goal_columns(experiment)
        )

    def events(self) -> pl.LazyFrame:
        """Scan every raw event, in order of `seq`; an empty frame without events."""
        return self._scan(self.manifest.events)

    def orders(self, experiment: str) -> pl.LazyFrame:
        """Scan revenue on other days than that of the first conversion, which `visitors` includes."""
        return self._scan([self.experiment(experiment).orders])

    def aggregates(self, experiment: str) -> pl.LazyFrame:
        """Scan the sums by goal, variant, day and segment; those of all visitors have no dimension."""
        return self._scan([self.experiment(experiment).aggregates])

    def path(self, file: DataFile) -> Path:
        """Find a file of the snapshot, for other programs.

        Raises UnreadableSnapshotError if it is gone, or is not as it was written.
        """
        path = self.folder / file.path
        if not path.is_file():
            raise UnreadableSnapshotError(
                f"{path} is gone: two newer snapshots were written since this one was opened; open it again"
            )
        if file.sha256 is not None and digest_of(path) != file.sha256:
            raise UnreadableSnapshotError(
                f"{path} is damaged: it is not as it was written. "
                "The next snapshot writes it again; open that one"
            )
        return path

    def event_paths(self) -> list[Path]:
        """List the files of events, for other programs; the folder may hold further files."""
        return [self.path(file) for file in self.manifest.events]

    def _scan(self, files: Iterable[DataFile]) -> pl.LazyFrame:
        paths = [self.path(file) for file in files]
        return pl.scan_parquet(paths, glob=False) if paths else pl.LazyFrame()


def _goal_of(goal: SnapshotGoal, name: str) -> FrameGoal:
    options: dict[str, Any] = {
        "less_is_better": goal.less_is_better,
        "guardrail": goal.guardrail_margin_percent,
        "guardrail_absolute": goal.guardrail_margin_absolute,
        "minimum_effect": goal.minimum_effect_percent,
        "window": goal.known_after,
    }
    if goal.q is not None:
        return Quantile(name, q=goal.q, of=goal.of, **options)
    if goal.known_after is not None and goal.measure != "retained":
        options["known"] = f"{name}: known"
    if goal.measure == "retained":
        return Retained(**options)
    if goal.measure == "ratio":
        return Ratio(f"{name}: numerator", f"{name}: denominator", **options)
    if goal.steps:
        return Funnel(*_step_columns(goal, name), **options)
    if kind := _kind_of_amounts(goal):
        return kind(**options)
    return Revenue(**options, currency=goal.currency) if goal.type == "revenue" else Converted(**options)


def _kind_of_amounts(goal: SnapshotGoal) -> type[FrameGoal] | None:
    """Return the kind of a goal with amounts of its own; None for ratios and goals without amounts."""
    measure = CONFIG_MEASURES[goal.measure]
    if "denominator" in measure.columns:
        return None
    summed = measure.summed({})
    return None if summed is None else _AMOUNTS[summed]


def _step_columns(goal: SnapshotGoal, name: str) -> list[str]:
    """Name the columns of a funnel's steps."""
    return [f"{name}: {place}. {step}" for place, step in enumerate(goal.steps, 1)]


def _goal_names(goals: Iterable[SnapshotGoal]) -> dict[str, str]:
    """Name the columns of each goal, by its id: the goal's name, with the id where that is taken."""
    taken = {*_VISITOR_COLUMNS, *DIMENSIONS, "custom_dimensions", UNIT}
    names = {}
    for goal in goals:
        further = (f"{goal.name} ({goal.id}{mark})" for mark in chain([""], count(2)))
        free = (name for name in chain([goal.name], further) if taken.isdisjoint(_names_under(goal, name)))
        names[goal.id] = next(free)
        taken |= _names_under(goal, names[goal.id])
    return names


def _names_under(goal: SnapshotGoal, name: str) -> set[str]:
    return {name, *(f"{name}: {what}" for what in _FURTHER), *_step_columns(goal, name)}


def _columns_of(goal: SnapshotGoal, name: str) -> Iterable[pl.Expr]:
    at, cents = pl.col(f"{goal.id}_converted_at"), pl.col(f"{goal.id}_revenue_cents")
    measured = _goal_of(goal, name)
    converted = at.is_not_null()
    if isinstance(measured, Retained):
        yield pl.when(pl.col(f"{goal.id}_observed")).then(converted).alias(name)
    yield converted.alias(name if isinstance(measured, Converted) else f"{name}: converted")
    amount = (cents / float(minor_units(goal.currency))).round(minor_unit_digits(goal.currency))
    yield amount.alias(name if isinstance(measured, Revenue) else f"{name}: revenue")
    if isinstance(measured, Quantile):
        values = pl.col(f"{goal.id}_{'values' if goal.of == 'event' else 'amount'}")
        is_known = pl.lit(value=True) if goal.known_after is None else pl.col(f"{goal.id}_observed")
        yield pl.when(is_known).then(values).alias(name)
    elif _kind_of_amounts(goal):
        yield pl.col(f"{goal.id}_amount").alias(name)
    if goal.has_orders:
        yield pl.col(f"{goal.id}_orders").alias(f"{name}: {ORDERS}")
    if PRE_PERIOD in goal.covariates:
        yield pl.col(f"{goal.id}_before").alias(f"{name}: {BEFORE}")
    if isinstance(measured, Funnel):
        reached = pl.col(f"{goal.id}_steps")
        yield from (reached.ge(place).alias(step) for place, step in enumerate(measured.steps, 1))
    if isinstance(measured, Ratio):
        yield pl.col(f"{goal.id}_amount").alias(measured.numerator)
        yield pl.col(f"{goal.id}_denominator").alias(measured.denominator)
    if measured.known is not None:
        yield pl.col(f"{goal.id}_observed").alias(measured.known)
    yield at.alias(f"{name}: at")
