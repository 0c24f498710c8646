"""Caps of goals in a lazy table, which its engine finds and applies."""

from collections.abc import Mapping, Sequence

import narwhals as nw

from engine.frames.frame_goal import FrameGoal
from engine.frames.lazy.engine_queries import Table, fetch, flag
from engine.stats.winsorizing import place_of_cap


def caps_of(visitors: Table, kinds: Sequence[FrameGoal]) -> dict[int, float]:
    """Find the caps of goals by their place, of those with a value above 0: one value of each is fetched."""
    percentiles = {goal: kind.percentile for goal, kind in enumerate(kinds) if kind.percentile is not None}
    if not percentiles:
        return {}
    counts = fetch(
        visitors.select(flag(nw.col(f"sum_{goal}") > 0.0).sum().alias(f"{goal}") for goal in percentiles)
    ).row(0)
    positive = {goal: int(count) for goal, count in zip(percentiles, counts, strict=True) if count}
    return {
        goal: _largest(visitors, f"sum_{goal}", count - place_of_cap(count, percentiles[goal]))
        for goal, count in positive.items()
    }


def with_judged_values(visitors: Table, kinds: Sequence[FrameGoal], caps: Mapping[int, float]) -> Table:
    """Add the value `value_<i>` that a visitor is judged on: capped, and null where it is not known yet."""
    return visitors.with_columns(
        _judged(goal, kind, caps.get(goal)).alias(f"value_{goal}") for goal, kind in enumerate(kinds)
    )


def _judged(goal: int, kind: FrameGoal, cap: float | None) -> nw.Expr:
    value = nw.col(f"sum_{goal}")
    if kind.is_share:
        done = nw.col(f"done_{goal}").cast(nw.Float64)
        return nw.when(~value.is_null()).then(done) if kind.is_partly_known else done
    return value if cap is None else nw.when(value > cap).then(nw.lit(cap)).otherwise(value)


def _largest(visitors: Table, name: str, place: int) -> float:
    """Fetch the value at a place from the largest down, counted from 1."""
    largest = visitors.select(name).sort(name, descending=True, nulls_last=True).head(place)
    return float(fetch(largest.select(nw.col(name).min())).item())
