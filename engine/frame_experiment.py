"""The experiment that a DataFrame tells of: its variants and goals, over once the data end."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import polars as pl

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment, Goal, Variant
from engine.design.vocabulary import AnalysisMethod, TrafficStrategy
from engine.errors import InvalidEvidenceError
from engine.frame_counts import moment
from engine.frame_rows import NO_MORE, GoalKind, ValueColumns

# When everything happened where no column says so.
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_DEFAULTS = Statistics()
# Variants that are looked for one by one.
_FEW = 4


def experiment_of(  # noqa: PLR0913  # what the caller of a notebook's function may say
    rows: pl.DataFrame,
    *,
    control: str,
    kinds: Mapping[str, GoalKind],
    weights: Mapping[str, float] | None,
    less_is_better: Collection[str],
    analysis_method: AnalysisMethod,
    confidence_level: int,
    name: str,
    traffic_strategy: TrafficStrategy = "fixed",
    statistics: Statistics = _DEFAULTS,
    more: ValueColumns = NO_MORE,
) -> Experiment:
    """The experiment behind `read_rows`: the control first, the other variants by name, goals as given.

    Raises InvalidEvidenceError where the control, a weight or a goal is not in the data, and
    InvalidDesignError where there can be no such experiment.
    """
    arms = _arms(_seen(rows["variant"]), control)
    first, last = (moment(rows["at"].min()) or _NO_TIME, moment(rows["at"].max()) or _NO_TIME)
    return Experiment(
        id="frame",
        project_id="frame",
        name=name,
        test_key="frame",
        salt="frame",
        url="https://frame.invalid/",
        created_at=first,
        updated_at=last,
        # The data is all there will be.
        status="completed",
        started_at=first,
        completed_at=last,
        analysis_method=analysis_method,
        confidence_level=confidence_level,
        traffic_strategy=traffic_strategy,
        variants=_variants(arms, weights),
        statistics=statistics,
        goals=_goals(kinds, less_is_better, more),
    )


def _seen(variants: pl.Series) -> list[str]:
    """Every variant once. Setting the rows of one aside is quicker than a table of them all."""
    seen: list[str] = []
    while len(variants) and len(seen) < _FEW:
        seen.append(variants[0])
        variants = variants.filter(variants != seen[-1])
    return [*seen, *variants.unique().to_list()]


def _arms(seen: Sequence[str], control: str) -> list[str]:
    """The control first, the others by name."""
    if control not in seen:
        arms = ", ".join(map(repr, sorted(seen)[:20]))
        raise InvalidEvidenceError(f"the control {control!r} is none of the variants seen: {arms}")
    return [control, *sorted(set(seen) - {control})]


def _variants(arms: Sequence[str], weights: Mapping[str, float] | None) -> tuple[Variant, ...]:
    if weights is not None and set(weights) != set(arms):
        raise InvalidEvidenceError(f"weights must be of the variants seen, {', '.join(map(repr, arms))}")
    return tuple(
        Variant(
            id=f"variant_{i}", name=arm, is_control=i == 0, weight=1.0 if weights is None else weights[arm]
        )
        for i, arm in enumerate(arms)
    )


def _goals(
    kinds: Mapping[str, GoalKind], less_is_better: Collection[str], more: ValueColumns
) -> tuple[Goal, ...]:
    if unknown := set(less_is_better) - set(kinds):
        raise InvalidEvidenceError(f"less_is_better names no goals: {', '.join(map(repr, sorted(unknown)))}")
    return tuple(
        Goal(
            id=f"goal_{i}",
            name=name,
            goal_type=kind,
            is_primary=i == 0,
            config={
                "event_name": name,
                "direction": "decrease" if name in less_is_better else "increase",
                **({"cap_percentile": more.caps[name]} if name in more.caps else {}),
                **({"per": "order"} if name in more.orders else {}),
            },
        )
        for i, (name, kind) in enumerate(kinds.items())
    )
