"""Visitors of accounts, and reports that compare these."""

from typing import Any

import numpy as np
import polars as pl

from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.frames.analyze import analyze_frame


def accounts(clusters: int, seed: int, *, lift: float = 0.0, weight: float = 0.5) -> pl.DataFrame:
    """Visitors of accounts: sizes lognormal (0.8), conversion rates of 10% with a correlation of 0.1."""
    rng = np.random.default_rng(seed)
    sizes = np.ceil(40 * rng.lognormal(-0.32, 0.8, clusters)).astype(int)
    is_variant = rng.permutation(np.arange(clusters) < round(weight * clusters))
    rates = rng.beta(0.9, 8.1, clusters)
    account = np.repeat(np.arange(clusters), sizes)
    bought = rng.random(len(account)) < (rates * np.where(is_variant, 1 + lift, 1))[account]
    return pl.DataFrame(
        {
            "variant": np.where(is_variant, "B", "A")[account],
            "account": [f"account {number}" for number in account.tolist()],
            "bought": bought,
            "spent": (bought * rng.lognormal(3, 0.8, len(account))).round(2),
            "views": 1 + rng.poisson(2, len(account)),
            "before": rng.lognormal(0, 0.5, len(account)) + 20 * rates[account],
        }
    )


def judged(frame: Any, **asked: Any) -> Report:
    given = {"control": "A", "goals": ["bought"], "cluster": "account"}
    return analyze_frame(frame, **{**given, **asked})


def of_variant(report: Report, goal: int = 0) -> VariantResult:
    return report.goals[goal].variants[1]


def sums_of(frame: pl.DataFrame, y: str, x: pl.Expr) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Sum denominators and numerators by cluster, for each variant."""
    sums = frame.group_by("variant", "account").agg(x.alias("x"), pl.col(y).cast(pl.Float64).sum().alias("y"))
    parts = {arm: sums.filter(pl.col("variant") == arm) for arm in ("A", "B")}
    return {arm: (part["x"].to_numpy(), part["y"].to_numpy()) for arm, part in parts.items()}
