"""Snapshots for notebooks: what was stored, as lazy Polars frames, while the service goes on."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

import polars as pl

from engine.design.analysis_settings import Statistics
from engine.frames.rows import GoalKind
from pipeline.snapshots.manifest import (
    MANIFEST,
    DataFile,
    Manifest,
    SnapshotExperiment,
    SnapshotGoal,
    UnreadableSnapshotError,
    read_manifest,
)
from pipeline.store.warehouse.visitors import DIMENSIONS

# Columns of a visitor besides those of goals, before the segments.
_OF_THE_VISITOR: Final = ("visitor_key", "visitor_id", "variant", "variant_id", "first_exposed_at")
_CENTS: Final = 100.0


def open_snapshot(folder: str | Path, project: str | None = None) -> "Snapshot":
    """The newest snapshot in `folder`: that of a project, or of all, where `project` is an id or a name.

    It stays what it is while newer ones are written; its files are there until the next but one. Raises
    UnreadableSnapshotError where there is none, or several to choose from.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        return Snapshot(folder, read_manifest(folder))
    found = [
        Snapshot(path.parent, read_manifest(path.parent)) for path in sorted(folder.glob(f"*/{MANIFEST}"))
    ]
    wanted = [one for one in found if project in {None, one.project_id, one.project_name}]
    if len(wanted) == 1:
        return wanted[0]
    there = ", ".join(f"{one.project_id} ({one.project_name})" for one in found) or "none"
    problem = "there is no such snapshot" if not wanted else "there are several snapshots; name a project"
    raise UnreadableSnapshotError(f"{problem} in {folder}: {there}")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One project at one moment. Experiments are named by their name or id; KeyError for others."""

    folder: Path
    manifest: Manifest

    @property
    def project_id(self) -> str:
        """The id of the project."""
        return self.manifest.project_id

    @property
    def project_name(self) -> str:
        """Its name."""
        return self.manifest.project_name

    @property
    def experiments(self) -> pl.DataFrame:
        """One row an experiment: `name`, `id`, `status`, `variants`, `goals`, `visitors`, `as_of`."""
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
        """All that the snapshot says of an experiment, by its name or id."""
        known = self.manifest.experiments
        found = [one for one in known if one.id == name] or [one for one in known if one.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(f"several experiments are named {name!r}: {', '.join(one.id for one in found)}")
        near = get_close_matches(name, [one.name for one in known], n=1)
        there = ", ".join(repr(one.name) for one in known) or "none"
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {there}"
        raise KeyError(f"no experiment {name!r} was counted yet; {hint}")

    def visitors(self, experiment: str) -> pl.LazyFrame:
        """One row a visitor counted, in the order of first exposure.

        `variant` is the name of the one they saw; segments have the API's names. Each goal has the column
        that it is judged by, under its name: true where they converted, or for a revenue goal what they
        paid, in major units such as dollars, less refunds. `<name>: revenue` or `<name>: converted` is the
        other of the two, `<name>: at` when they first converted. `goal_columns` tells the names.
        """
        chosen = self.experiment(experiment)
        names = _goal_names(chosen.goals)
        counted = pl.scan_parquet(self.path(chosen.visitors))
        of_goals = (column for goal in chosen.goals for column in _columns_of(goal, names[goal.id]))
        taken = {f"{goal.id}_{what}" for goal in chosen.goals for what in ("converted_at", "revenue_cents")}
        segments = [
            name
            for name in counted.collect_schema().names()
            if name not in {*taken, *_OF_THE_VISITOR, "variant_name"}
        ]
        return counted.rename({"variant_name": "variant"}).select(*_OF_THE_VISITOR, *of_goals, *segments)

    def goal_columns(self, experiment: str) -> dict[str, GoalKind]:
        """The columns of `visitors` that goals are judged by, the primary first, and the kind of each."""
        goals = self.experiment(experiment).goals
        names = _goal_names(goals)
        in_order = sorted(goals, key=lambda goal: not goal.is_primary)
        return {names[goal.id]: _kind(goal) for goal in in_order}

    def analysis(self, experiment: str) -> dict[str, Any]:
        """How the service judges the experiment: what `analyze_frame` takes besides `visitors`.

        Variants that nobody saw are left out, and so is what one row a visitor does not tell: what visitors
        did before (`cuped`, `prior: pre_period`), how many orders they made (`per: order`), guardrails.
        Raises ValueError where an experiment has nothing to compare, or nothing to compare it by.
        """
        chosen = self.experiment(experiment)
        seen = [variant for variant in chosen.variants if variant.visitors]
        control = next((variant.name for variant in seen if variant.is_control), None)
        if control is None or not chosen.goals:
            missing = "goals" if control else "visitors who saw the control"
            raise ValueError(f"{chosen.name!r} has no {missing}")
        names = _goal_names(chosen.goals)
        primary = next((goal for goal in chosen.goals if goal.is_primary), chosen.goals[0])
        return {
            "name": chosen.name,
            "variant": "variant",
            "control": control,
            "goals": self.goal_columns(experiment),
            "timestamp": "first_exposed_at",
            "timezone": self.manifest.timezone,
            "weights": {variant.name: variant.weight for variant in seen},
            "weight_epochs": [
                (epoch.started_at, {one.name: epoch.weights.get(one.id, 0.0) for one in seen})
                for epoch in chosen.weight_epochs
            ],
            "traffic_strategy": chosen.traffic_strategy,
            "caps": {} if chosen.weight_epochs else _caps(chosen.goals, names),
            "statistics": _without_the_past(chosen.statistics),
            "less_is_better": [names[goal.id] for goal in chosen.goals if goal.less_is_better],
            "analysis_method": chosen.analysis_method,
            "confidence_level": chosen.confidence_level,
            "currency": primary.currency,
        }

    def events(self) -> pl.LazyFrame:
        """Every raw event as it came, in order of `seq`; empty where there are none."""
        return self._scan(self.manifest.events)

    def orders(self, experiment: str) -> pl.LazyFrame:
        """Money on other days than that of a visitor's first conversion, which `visitors` includes."""
        return self._scan([self.experiment(experiment).orders])

    def aggregates(self, experiment: str) -> pl.LazyFrame:
        """Sums by goal, variant, day and segment; those of everyone have no dimension."""
        return self._scan([self.experiment(experiment).aggregates])

    def path(self, file: DataFile) -> Path:
        """Where one of the snapshot's files is, for other programs. UnreadableSnapshotError."""
        path = self.folder / file.path
        if not path.is_file():
            raise UnreadableSnapshotError(
                f"{path} is gone: two newer snapshots were written since this one was opened; open it again"
            )
        return path

    def event_paths(self) -> list[Path]:
        """Where the files of events are: give these to other programs, and not all that the folder has."""
        return [self.path(file) for file in self.manifest.events]

    def _scan(self, files: Iterable[DataFile]) -> pl.LazyFrame:
        paths = [self.path(file) for file in files]
        return pl.scan_parquet(paths) if paths else pl.LazyFrame()


def _caps(goals: Iterable[SnapshotGoal], names: dict[str, str]) -> dict[str, float]:
    """Where revenue per visitor is cut, by the goal's column."""
    return {
        names[goal.id]: goal.cap_percentile
        for goal in goals
        if goal.cap_percentile is not None and goal.per == "visitor"
    }


def _without_the_past(statistics: Statistics) -> Statistics:
    prior = "flat" if statistics.prior == "pre_period" else statistics.prior
    return replace(statistics, cuped=False, prior=prior)


def _kind(goal: SnapshotGoal) -> GoalKind:
    return "revenue" if goal.type == "revenue" else "custom_event"


def _goal_names(goals: Iterable[SnapshotGoal]) -> dict[str, str]:
    """What each goal's columns are called, by its id: its name, with the id where that is taken."""
    taken = {*_OF_THE_VISITOR, *DIMENSIONS, "custom_dimensions"}
    names = {}
    for goal in goals:
        further = (f"{goal.name} ({goal.id}{mark})" for mark in chain([""], count(2)))
        free = (name for name in chain([goal.name], further) if taken.isdisjoint(_names_under(name)))
        names[goal.id] = next(free)
        taken |= _names_under(names[goal.id])
    return names


def _names_under(name: str) -> set[str]:
    return {name, *(f"{name}: {what}" for what in ("revenue", "converted", "at"))}


def _columns_of(goal: SnapshotGoal, name: str) -> Iterable[pl.Expr]:
    at, cents = pl.col(f"{goal.id}_converted_at"), pl.col(f"{goal.id}_revenue_cents")
    is_revenue = _kind(goal) == "revenue"
    yield at.is_not_null().alias(f"{name}: converted" if is_revenue else name)
    yield (cents / _CENTS).round(2).alias(name if is_revenue else f"{name}: revenue")
    yield at.alias(f"{name}: at")
