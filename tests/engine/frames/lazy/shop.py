"""A generated shop whose visitors have several rows, and some of them two variants."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from engine.frames.kinds import Ratio

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
