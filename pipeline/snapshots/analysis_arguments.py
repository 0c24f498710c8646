"""Arguments of the analysis of a snapshot's experiment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from engine.analysis.evidence.recorded_looks import with_ids
from engine.design.analysis_settings import OWN_HISTORY, PRE_PERIOD, Statistics
from engine.design.lifecycle import OPEN
from engine.frames.frame_goal import FrameGoal
from engine.frames.service_record import ServiceRecord
from pipeline.snapshots.manifest import Manifest, SnapshotExperiment, SnapshotVariant

ORDERS: Final = "orders"
"""The end of the name of a column with the number of a visitor's orders."""
UNIT: Final = "unit"
"""The column of the unit that a visitor belongs to, where these are compared."""
BEFORE: Final = "before"
"""The end of the name of a column with a goal's value before the first exposure."""


def analysis_arguments(
    entry: SnapshotExperiment,
    manifest: Manifest,
    columns: Mapping[str, str],
    goals: Mapping[str, FrameGoal],
) -> dict[str, Any]:
    """Build the arguments of `analyze_frame` besides rows; `columns` are by goal id, `goals` by column.

    Raises ValueError for an experiment without goals, or without visitors in the control.
    """
    exposed = [variant for variant in entry.variants if variant.visitors]
    control = next((variant.name for variant in exposed if variant.is_control), None)
    if control is None or not entry.goals:
        missing = "goals" if control else "visitors who saw the control"
        raise ValueError(f"{entry.name!r} has no {missing}")
    return {
        "name": entry.name,
        "variant": "variant",
        "control": control,
        "goals": goals if entry.weight_epochs else _with_adjustments(goals, entry, columns),
        "timestamp": "first_exposed_at",
        "timezone": manifest.timezone,
        "weights": {variant.name: variant.weight for variant in exposed},
        "weight_epochs": [
            (epoch.started_at, {one.name: epoch.weights.get(one.id, 0.0) for one in exposed})
            for epoch in entry.weight_epochs
        ],
        "traffic_strategy": entry.traffic_strategy,
        "statistics": _without_pre_period(entry.statistics),
        "analysis_method": entry.analysis_method,
        "confidence_level": entry.confidence_level,
        **({} if entry.units is None else {"cluster": UNIT}),
        **_course(entry, manifest, columns, exposed),
    }


def _course(
    entry: SnapshotExperiment,
    manifest: Manifest,
    columns: Mapping[str, str],
    exposed: list[SnapshotVariant],
) -> dict[str, Any]:
    """Describe the course of the experiment; for an older snapshot only whether it was unfinished."""
    if entry.looks is None or entry.started_at is None:
        return {"running": entry.status in OPEN}
    return {
        "looks": with_ids(entry.looks, goals=columns, variants={one.id: one.name for one in exposed}),
        "service": ServiceRecord(
            now=manifest.taken_at,
            status=entry.status,
            started_at=entry.started_at,
            completed_at=entry.completed_at,
            pauses=entry.pauses,
            ramp=entry.ramp,
            ramp_steps=entry.ramp_steps,
            several_variants=entry.several_variants,
            identity_conflicts=entry.identity_conflicts,
            bots=entry.bots,
            units=entry.units,
        ),
    }


def _with_adjustments(
    goals: Mapping[str, FrameGoal], entry: SnapshotExperiment, columns: Mapping[str, str]
) -> dict[str, FrameGoal]:
    """Set the caps, orders and covariates of goals; rows of earlier snapshots lack the last two."""
    options: dict[str, dict[str, Any]] = {}
    for goal in entry.goals:
        own = options.setdefault(columns[goal.id], {})
        if goal.has_orders:
            own["orders"] = f"{columns[goal.id]}: {ORDERS}"
        if goal.covariates:
            own["covariates"] = [
                f"{columns[goal.id]}: {BEFORE}" if name == PRE_PERIOD else name for name in goal.covariates
            ]
        if goal.cap_percentile is not None and (goal.per == "visitor" or goal.has_orders):
            own["cap_percentile"] = goal.cap_percentile
    return {name: goal.with_options(**options.get(name, {})) for name, goal in goals.items()}


def _without_pre_period(statistics: Statistics) -> Statistics:
    prior = "flat" if statistics.prior == "pre_period" else statistics.prior
    return replace(statistics, cuped=False, covariates=OWN_HISTORY, prior=prior)
