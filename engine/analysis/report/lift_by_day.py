"""Lift of a conversion rate by the end of each day, with the interval of one look and that of all looks."""

from dataclasses import dataclass
from datetime import date

import numpy as np
import scipy

from engine.analysis.comparison.effects import relative_change
from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS, fewest_expected
from engine.analysis.comparison.plan import AnalysisPlan, plan_analysis
from engine.analysis.results.numbers import intervals, no_cells
from engine.analysis.results.planned_sample import PlanReport
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.variant_result import Interval
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian import posteriors
from engine.stats.contingency import Tables
from engine.stats.frequentist import two_sample
from engine.stats.sequential import confidence_sequence_boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class DayLift:
    """One variant against the control, of everything counted by the end of a day; lifts are shares.

    `always_valid` is None for Bayesian experiments, bandits and group sequential tests, whose interval holds
    at the looks recorded only, and for reports read from a service, whose answers lack what it is tuned to.
    """

    day: date
    variant_id: str
    variant_name: str
    visitors: int
    lift: float
    interval: Interval
    always_valid: Interval | None


def lift_by_day(report: Report, goal: GoalReport, *, variant_id: str | None = None) -> tuple[DayLift, ...]:
    """Compute the lift of one variant, or of all, by the end of each day, without CUPED or other corrections.

    A day is left out as long as too few conversions are expected for intervals to be useful. Raises
    ValueError for a goal without daily counts of conversions, where weights changed, as counts of one day are
    of several splits then, and under a prior.
    """
    plan = plan_analysis(report.experiment)
    if reason := why_no_lift(report, goal):
        raise ValueError(reason)
    if plan.control is None or not goal.days:
        return ()
    visitors, conversions = _cumulative(goal)
    control = plan.control
    tables = Tables.of(conversions[:, [control]], visitors[:, [control]], conversions, visitors)
    is_mean = np.zeros(1, bool)
    expected = fewest_expected(conversions[:, None, :], visitors, control, is_mean=is_mean)[:, 0, :]
    is_asked = [variant_id in {None, one.variant_id} for one in goal.variants]
    is_shown = (expected >= FEWEST_CONVERSIONS) & (np.arange(visitors.shape[1]) != control) & is_asked
    levels = _levels(report.plan, plan, visitors.sum(axis=1))
    return _rows(goal, tables, is_shown, plan, levels)


def has_daily_rates(goal: GoalReport) -> bool:
    """Tell whether the days of a goal have its rate, or its revenue per visitor."""
    return goal.goal.measure.has_days


def why_no_lift(report: Report, goal: GoalReport) -> str | None:
    """Say why the lift of a goal is not known by day; None where it is."""
    if not has_daily_rates(goal) or goal.goal.unit != "share":
        return f"{goal.goal.name!r} is no conversion rate, and only its totals are kept by day"
    if report.estimand is not None:
        return "weights changed, and the lift is an average over their epochs, not of days"
    if report.clustered_by is not None:
        return f"variants are compared by {report.clustered_by}, of all days together"
    experiment = report.experiment
    if experiment.analysis_method == "bayesian" and experiment.statistics.prior != "flat":
        return "the lift under a prior is computed for all days together only"
    return None


def _cumulative(goal: GoalReport) -> tuple[FloatArray, FloatArray]:
    """Sum visitors and conversions up to each day, days by variants."""
    ids = [variant.variant_id for variant in goal.variants]
    counts = np.array(
        [[(by_id[each].visitors, by_id[each].conversions) for each in ids] for _, by_id in goal.days],
        np.float64,
    )
    visitors, conversions = np.moveaxis(counts.cumsum(axis=0), -1, 0)
    return visitors, conversions


def _levels(sample: PlanReport, plan: AnalysisPlan, visitors: FloatArray) -> FloatArray | None:
    """Compute the level of one look that has the width of the always-valid interval, by day."""
    at_every_look = not (
        plan.is_bayesian or plan.is_bandit or plan.statistics.sequential == "group_sequential"
    )
    if not at_every_look or sample.tuned_to is None:
        return None
    fraction = visitors / max(sample.tuned_to, 1.0)
    if sample.reached_at is None:
        fraction = np.minimum(fraction, 1.0)
    limit = confidence_sequence_boundary.critical_value(fraction, plan.two_sided_alpha)
    return np.asarray(2.0 * scipy.special.ndtr(-limit))


def _rows(
    goal: GoalReport, tables: Tables, is_shown: BoolArray, plan: AnalysisPlan, levels: FloatArray | None
) -> tuple[DayLift, ...]:
    lifts = relative_change(tables.control_share, tables.share)
    tail = plan.comparison_alpha if plan.is_bayesian else plan.two_sided_alpha / 2.0
    covered = np.full(lifts.shape, 1.0 - 2.0 * tail)
    bounds = _filled(is_shown, _one_look(tables[is_shown], plan))
    one_look = intervals(*bounds, covered, where=is_shown)
    always_valid = no_cells(lifts.shape)
    if levels is not None:
        each = np.broadcast_to(np.where(levels > 0, levels, np.nan)[:, None], lifts.shape)[is_shown]
        bounds = _filled(is_shown, two_sample.lift_interval_of_shares(tables[is_shown], each))
        always_valid = intervals(*bounds, covered, where=is_shown)
    days = [day for day, _ in goal.days]
    return tuple(
        DayLift(
            day=days[day],
            variant_id=goal.variants[variant].variant_id,
            variant_name=goal.variants[variant].variant_name,
            visitors=int(tables.n[day, variant]),
            lift=float(lifts[day, variant]),
            interval=one_look[day][variant],
            always_valid=always_valid[day][variant],
        )
        for day, variant in np.argwhere(is_shown & np.isfinite(lifts)).tolist()
        if one_look[day][variant] is not None
    )


def _one_look(tables: Tables, plan: AnalysisPlan) -> tuple[FloatArray, FloatArray]:
    if plan.is_bayesian:
        return posteriors.share_lift(tables, plan.comparison_alpha)
    return two_sample.lift_interval_of_shares(tables, plan.two_sided_alpha)


def _filled(is_shown: BoolArray, bounds: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Put the bounds of the days shown into arrays of all days and variants, NaN elsewhere."""
    low, high = np.full(is_shown.shape, np.nan), np.full(is_shown.shape, np.nan)
    low[is_shown], high[is_shown] = bounds
    return low, high
