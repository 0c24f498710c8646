"""Evidence for tests: counts in, everything a test does not care about left at nothing."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.evidence.epochs import EpochEvidence
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.health.check_result import CheckInput
from engine.analysis.health.checks import check_health
from engine.analysis.results.report import HealthCheck
from engine.design.experiment import Experiment
from engine.stats.moments import Moments
from tests.builders import NOW

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


def observed_by_epoch(
    weights: Any,
    visitors: Any,
    conversions: Any,
    *,
    settled: Any = None,
    cents: Moments | None = None,
    **overrides: Any,
) -> Evidence:
    """Build evidence of one goal by epochs of an hour: all numbers by epoch and variant.

    `cents` are the moments of revenue, of shape (epochs, 1, variants).
    """
    n, hits = np.array(visitors, np.int64), np.array(conversions, np.int64)[:, None, :]
    none = np.zeros(hits.shape)
    revenue = cents or Moments(np.broadcast_to(n[:, None, :], hits.shape).astype(np.float64), none, none)
    epochs = EpochEvidence(
        started_at=tuple(datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(hours=i) for i in range(len(n))),
        weights=np.array(weights, np.float64),
        visitors=n,
        settled=n if settled is None else np.array(settled, np.int64),
        conversions=hits,
        revenue=revenue,
        values=revenue,
    )
    return observed(
        n.sum(axis=0), hits.sum(axis=0), cents=revenue.sum_over(0), **{"epochs": epochs, **overrides}
    )


def check_input(experiment: Experiment, evidence: Evidence, now: datetime = NOW) -> CheckInput:
    """Build the input of a health check."""
    data = prepare(experiment, evidence)
    return CheckInput.of(data, now)


def health_of(experiment: Experiment, evidence: Evidence, now: datetime = NOW) -> dict[str, HealthCheck]:
    """Run all health checks: each result by its check's name."""
    data = prepare(experiment, evidence)
    return {result.check: result for result in check_health(data, now)}
