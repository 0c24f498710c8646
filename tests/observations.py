"""Evidence for tests: counts in, everything a test does not care about left at nothing."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np

from engine.analysis.evidence import DailyEvidence, Evidence
from engine.analysis.moments import Moments

MONDAY = date(2026, 3, 2)


def observed(
    visitors: Sequence[int],
    conversions: Sequence[int] | Sequence[Sequence[int]],
    *,
    cents: Moments | None = None,
    days: int = 0,
    **overrides: Any,
) -> Evidence:
    """Build evidence of one goal, or several; with `days`, everything happened on the first and the last."""
    hits = np.atleast_2d(np.array(conversions, np.int64))
    n = np.array(visitors, np.int64)
    none = np.zeros(hits.shape)
    return Evidence(
        visitors=n,
        conversions=hits,
        revenue=cents or Moments(np.broadcast_to(n, hits.shape).astype(np.float64), none, none),
        daily=spread_over(days, n, hits),
        **overrides,
    )


def spread_over(days: int, visitors: Any, conversions: Any) -> DailyEvidence:
    """Put one visitor a variant on the last day, and everyone else on the first."""
    shape = (days, *conversions.shape)
    by_day, hits = np.zeros((days, len(visitors)), np.int64), np.zeros(shape, np.int64)
    if days:
        by_day[0], hits[0] = visitors, conversions
    if days > 1:
        by_day[-1] += np.minimum(visitors, 1)
        by_day[0] -= np.minimum(visitors, 1)
    return DailyEvidence(
        days=tuple(MONDAY + timedelta(days=i) for i in range(days)),
        visitors=by_day,
        conversions=hits,
        revenue_cents=np.zeros(shape, np.int64),
    )
