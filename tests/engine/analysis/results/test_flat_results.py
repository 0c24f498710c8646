"""The flat form has every number of the tree under one name, and the tree is built from it again."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.results.flat_results import flatten, nest_variant
from engine.analysis.results.report import GoalReport
from engine.analysis.results.variant_result import VariantResult
from engine.display.plain_data import plain_data
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted, Count, Funnel, Quantile, Ratio, Retained, Revenue
from engine.typed_records import record_of

N = 1200
GOALS: dict[str, Any] = {
    "bought": Converted(),
    "spent": Revenue(),
    "large": Revenue(cap_percentile=90, currency="JPY"),
    "per order": Revenue(orders="orders"),
    "clicks": Count(cap_percentile=95, covariates="before"),
    "rate": Ratio("clicks", "orders"),
    "kept": Retained(window=3),
    "steps": Funnel("bought", "again"),
    "half": Quantile("clicks", q=0.5),
}


def visitors(n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    bought = rng.random(n) < 0.3
    spent = np.where(bought, rng.lognormal(3, 1, n).round(2), 0.0)
    return pl.DataFrame(
        {
            "variant": ["old", "new"] * (n // 2),
            "at": [datetime(2026, 3, 2, tzinfo=UTC) + timedelta(minutes=20 * i) for i in range(n)],
            "bought": bought,
            "again": rng.random(n) < 0.5,
            "spent": spent,
            "large": spent,
            "per order": spent,
            "orders": np.where(bought, rng.integers(1, 4, n), 0),
            "clicks": rng.poisson(4, n),
            "before": rng.poisson(4, n),
            "kept": [None if i > 0.8 * n else i % 3 == 0 for i in range(n)],
        }
    )


def analyzed(n: int = N, **settings: Any) -> tuple[GoalReport, ...]:
    return analyze_frame(visitors(n), control="old", goals=GOALS, timestamp="at", **settings).goals


def kept_and_read(goal: GoalReport, variant: VariantResult) -> VariantResult:
    flat = json.loads(json.dumps(plain_data(variant)))
    return record_of(nest_variant(flat, goal.goal), VariantResult)


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
@pytest.mark.parametrize("n", [N, 40])
def test_a_result_is_the_same_after_its_flat_form(n: int, method: Any) -> None:
    seen = set()
    for goal in analyzed(n, analysis_method=method, running=True):
        for variant in goal.variants:
            again = kept_and_read(goal, variant)
            assert flatten(again) == flatten(variant)
            assert again.metric.value == pytest.approx(variant.metric.value)
            assert (again.metric.name, again.metric.n) == (variant.metric.name, variant.metric.n)
            assert again.comparison == variant.comparison
            seen.add((variant.metric.name, variant.comparison is None))
    assert {name for name, _ in seen} == {
        *("conversion_rate", "revenue_per_visitor", "revenue_per_order", "mean")
    }
    assert {is_missing for _, is_missing in seen} == {True, False}


def test_a_variant_without_a_comparison_says_why() -> None:
    open_yet = visitors(40).with_columns(kept=pl.lit(None, pl.Int64))
    report = analyze_frame(open_yet, control="old", goals={"kept": Retained(window=3)}, timestamp="at")
    control, variant = report.goals[0].variants
    assert control.comparison is variant.comparison is None
    assert (control.reason, variant.reason) == (None, "no outcome of 'old' is known yet")
    assert (variant.improvement, variant.compared.absolute_difference, variant.metric.value) == (None,) * 3


def test_results_that_were_kept_before_there_were_trees_are_read() -> None:
    """Such as the revenue per order of a goal with a cap, which had no amount without it."""
    spent = next(goal for goal in analyzed() if goal.goal.name == "per order")
    flat: dict[str, Any] = {
        "variant_id": "variant_1",
        "variant_name": "new",
        "is_control": False,
        "currency": "USD",
        "visitors": 600,
        "conversions": 180,
        "conversion_rate": 0.3,
        "revenue_cents": 540_000,
        "revenue_per_visitor_cents": 900.0,
        "improvement": 0.1,
        "status": "inconclusive",
        "rate_interval": {"low": 800.0, "high": 1000.0, "level": 0.95},
        "improvement_interval": {"low": -0.1, "high": 0.3, "level": 0.95},
        "sample_ratio_expected": 0.5,
        "orders": 270,
        "revenue_per_order_cents": 2000.0,
        "capped": {
            "cap": 5000.0,
            "visitors": 9,
            "mean": 1800.0,
            "projected_annual_revenue_impact_cents": None,
        },
    }
    read = record_of(nest_variant(flat, spent.goal), VariantResult)
    assert (read.metric.name, read.metric.value, read.metric.n) == ("revenue_per_order", 1800.0, 600)
    assert (read.details.per_order and read.details.per_order.value) == 2000.0
    assert read.details.capped is not None
    assert read.details.capped.uncapped is None
    assert {name: value for name, value in plain_data(read).items() if name in flat} == {
        **flat,
        "capped": {**flat["capped"], "uncapped": None},
    }
