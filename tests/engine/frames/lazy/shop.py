"""A generated shop whose visitors have several rows, and some of them two variants."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from engine.frames.kinds import Converted, Count, Funnel, Quantile, Ratio, Revenue, Value

GOALS: dict[str, Any] = {
    "bought": "converted",
    "spent": "revenue",
    "views": "count",
    "score": "value",
    "rating": "mean",
    "returned": "retained",
    "score per view": Ratio("score", "views"),
}


def shop_rows(rows: int = 4000) -> pl.DataFrame:
    """Draw rows around a change of the clock in New York (8 March 2026), with amounts of half cents."""
    rng = np.random.default_rng(20260308)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    visitor = rng.integers(0, rows // 3, rows)
    variants = np.array(["A", "B", "C"])
    return pl.DataFrame(
        {
            "visitor": visitor,
            # One visitor in fifty sees any variant.
            "variant": np.where(visitor % 50 == 0, rng.choice(variants, rows), variants[visitor % 3]),
            "at": [start + timedelta(seconds=int(second)) for second in rng.integers(0, 14 * 86_400, rows)],
            "bought": rng.random(rows) < 0.1,
            "spent": [
                None if draw > 0.2 else round(float(amount), 1) + 0.125
                for draw, amount in zip(rng.random(rows), rng.lognormal(3, 1, rows) - 5, strict=True)
            ],
            "views": rng.integers(0, 6, rows),
            "score": rng.normal(1e3, 30, rows),
            "rating": [None if draw < 0.3 else float(draw) for draw in rng.random(rows)],
            "returned": [None if draw < 0.2 else int(draw > 0.6) for draw in rng.random(rows)],
        }
    )


# Goals of which something is not known, steps are ordered, or values are ranked.
OTHER_GOALS: dict[str, Any] = {
    "bought": Converted(known="is_over"),
    "spent": Revenue(known="is_over"),
    "views": Count(known="is_over"),
    "score per view": Ratio("score", "views", known="is_over"),
    "seen, then bought": Funnel("seen", "bought"),
    "asked, then paid": Funnel("asked_at", "paid_at", "sent_at", known="is_over"),
    "median score": Quantile("score", q=0.5),
    "high rating": Quantile("rating", q=0.9),
    "score": Value(),
}
SEGMENTS: Final = ("town", "is_member", "plan", "discount")


def wide_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Add to `shop_rows` columns of steps, of known outcomes, and of segments of four types."""
    rng = np.random.default_rng(8)
    count = rows.height

    def some(values: pl.Expr | pl.Series, share: float) -> pl.Expr:
        return pl.when(pl.Series(rng.random(count) < share)).then(values)

    def later(share: float) -> pl.Expr:
        return some(
            pl.col("at") + pl.duration(seconds=pl.lit(pl.Series(rng.integers(0, 500_000, count)))), share
        )

    return rows.with_columns(
        is_over=some(pl.Series(rng.integers(0, 2, count)), 0.8),
        seen=pl.Series(rng.random(count) < 0.4),
        asked_at=later(0.5),
        paid_at=later(0.4),
        sent_at=later(0.4),
        town=some(pl.Series(rng.choice(["Ulm", "Köln", ""], count)), 0.8),
        is_member=pl.Series(rng.random(count) < 0.5),
        plan=some(pl.Series(rng.integers(0, 3, count)), 0.9),
        discount=some(pl.Series(rng.choice([0.5, 1.25], count)), 0.9),
    )
