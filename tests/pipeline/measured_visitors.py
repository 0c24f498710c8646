"""Visitors for every measure, the goals of each through every door, and the comparison of their numbers."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Count, Funnel, Quantile, Ratio, Retained, Revenue, Value

VISITORS = 500
# The views of a visitor are of so many products in turn.
SKUS = 2
# Those who came so late that nobody knows yet whether they stay.
LATE = 40
COMPARED = (
    *("visitors", "mean", "improvement", "log_p_value", "score_value", "absolute_difference"),
    *("revenue_cents", "revenue_per_order_cents", "status"),
)


class Made(NamedTuple):
    """A measure as a goal of the service, of rows and of the command."""

    goal_type: str
    config: dict[str, Any]
    frame: FrameGoal
    command: tuple[str, ...]
    takes_sums: bool = True


VIEW, VISIT = {"event_name": "view"}, {"event_name": "visit"}
MADE = {
    "converted": Made("custom_event", VIEW, Converted(), ("converted",)),
    "revenue": Made("revenue", {}, Revenue(), ("revenue:revenue",)),
    "revenue_per_order": Made(
        "revenue",
        {"per": "order"},
        Revenue(orders="orders"),
        ("revenue_per_order:revenue", "--orders", "revenue_per_order=orders"),
        takes_sums=False,
    ),
    "count": Made("custom_event", {**VIEW, "measure": "count"}, Count(), ("count:count",)),
    "distinct": Made(
        "custom_event",
        {**VIEW, "measure": "distinct", "field": "custom:sku"},
        Count(),
        ("distinct:count",),
    ),
    "value": Made("custom_event", {"event_name": "score", "measure": "value"}, Value(), ("value:value",)),
    "ratio": Made(
        "custom_event",
        {**VIEW, "measure": "ratio", "denominator": VISIT},
        Ratio("count", "visits"),
        ("ratio:ratio=count/visits",),
    ),
    "quantile": Made(
        "custom_event",
        {"event_name": "time", "measure": "quantile", "q": 0.7, "window": 5},
        Quantile("quantile", q=0.7, window=5),
        ("quantile:quantile=quantile@0.7",),
        takes_sums=False,
    ),
    "quantile of events": Made(
        "custom_event",
        {"event_name": "load", "measure": "quantile", "q": 0.9, "of": "event", "direction": "decrease"},
        Quantile("loads", q=0.9, of="event", less_is_better=True),
        (),
        takes_sums=False,
    ),
    "retained": Made(
        "custom_event",
        {"event_name": "return", "measure": "retained", "from_day": 2, "to_day": 3},
        Retained(),
        ("retained:retained",),
    ),
    "funnel": Made(
        "custom_event",
        {**VIEW, "measure": "funnel", "steps": [VISIT]},
        Funnel("visited", "viewed"),
        ("funnel:funnel=visited,viewed",),
        takes_sums=False,
    ),
}


def drawn_visitors() -> pl.DataFrame:
    """Draw visitors whose values are whole numbers of some unit, as they are stored."""
    rng = np.random.default_rng(5)
    # A third of the visitors, so that the skewness of means matters.
    arm, late = (np.arange(VISITORS) % 3 == 0).astype(int), np.arange(VISITORS) >= VISITORS - LATE
    count = rng.poisson(1.5 + 0.5 * arm)
    visits = rng.poisson(1.2, VISITORS)
    orders = rng.poisson(0.4 + 0.1 * arm)
    values = rng.normal(3, 5, VISITORS).round(4)
    # Slow visitors load slowly each time.
    slow, loads = rng.normal(0.3 * arm, 0.8), rng.poisson(2.5, VISITORS)
    retained = pl.Series(rng.random(VISITORS) < 0.3 + 0.1 * arm).cast(pl.Int64)
    return pl.DataFrame(
        {
            "variant": np.where(arm == 0, "Control", "Treatment"),
            "is_late": late,
            "converted": (count > 0).astype(int),
            "count": count,
            "distinct": np.minimum(count, SKUS),
            "visits": visits,
            "visited": (visits > 0).astype(int),
            "viewed": ((visits > 0) & (count > 0)).astype(int),
            "orders": orders,
            "revenue": orders * rng.integers(500, 9_000, VISITORS) / 100,
            "value": values,
            "loads": [
                rng.lognormal(base, 0.6, times).round(4).tolist()
                for base, times in zip(slow, loads, strict=True)
            ],
            "quantile": pl.Series(values).set(pl.Series(late | (np.arange(VISITORS) % 11 == 0)), None),
            "retained": retained.set(pl.Series(late), None),
        }
    ).with_columns(revenue_per_order="revenue")


def treatment(report: Report, name: str) -> VariantResult:
    """Find the variant of a goal that is not the control."""
    goal = next(goal for goal in report.goals if goal.goal.name == name)
    return next(variant for variant in goal.variants if not variant.is_control)


def same(wanted: object) -> Any:
    """Match a number to the last digits of a double, and anything else as it is."""
    return pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted


def assert_same(found: VariantResult, wanted: VariantResult, door: str) -> None:
    """Compare the numbers of one goal and variant, none of which is rounded."""
    ours, theirs = flatten(found), flatten(wanted)
    for field in COMPARED:
        assert ours[field] == same(theirs[field]), (door, field)
