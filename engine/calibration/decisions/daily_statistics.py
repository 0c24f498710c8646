"""Statistics of simulated tests at every daily look, by the functions that results use."""

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.comparable import are_spread
from engine.analysis.comparison.enough_data import has_enough
from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS, fewest_expected
from engine.analysis.comparison.pairs import Pairs
from engine.analysis.decision.look_statistics import LookStatistics, log_p_of_few
from engine.calibration.decisions.daily_quantiles import compare_quantile_days
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.simulated_days import SimulatedDays
from engine.design.planning.plan_days import FIRST_DAY
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables
from engine.stats.frequentist.two_sample import log_p_shares
from engine.stats.log_p_values import signed_z


def compare_days(days: SimulatedDays, *, equivalence_margin: npt.ArrayLike) -> LookStatistics:
    """Compare every variant with the control at every look.

    `equivalence_margin` broadcasts to runs by days by goals by variants.
    """
    if days.quantiles is not None:
        margins = guardrail_margins(days.case)
        return compare_quantile_days(days.quantiles, margins=margins, relevant=equivalence_margin)
    case, hits = days.case, days.conversions
    pairs = Pairs.of(days.moments, days.ratios.broadcast_to(hits.shape), 0)
    is_variant = np.arange(hits.shape[-1]) != 0
    is_monitored, is_enough = _has_data(days)
    # No other cell is judged: a plan is reached in the second week at the earliest.
    is_second_week = np.arange(1, hits.shape[1] + 1) >= FIRST_DAY
    needed = is_monitored | (is_enough & is_second_week[:, None, None])
    bounds = pairs.equivalence(equivalence_margin)
    kept = 1.0 - guardrail_margins(case)[:, None]
    log_p_margin = np.full(hits.shape, np.nan)
    if not case.is_mean:
        log_p_margin = log_p_of_few(hits, days.visitors, 0, kept=kept, wanted=np.ones(kept.shape))
    return LookStatistics(
        z=_z(days, pairs, needed),
        is_monitored=is_monitored,
        is_enough=is_enough,
        above=np.where(is_variant, bounds.above, np.nan),
        below=np.where(is_variant, bounds.below, np.nan),
        margin_z=np.where(is_variant, pairs.relative_z(kept), np.nan),
        log_p_margin=np.where(is_variant, log_p_margin, np.nan),
        has_outcomes=np.broadcast_to((days.visitors > 0)[:, None, :], hits.shape),
        lacks_margin=np.zeros(hits.shape, bool),
    )


def guardrail_margins(case: DecisionCase) -> FloatArray:
    """Return the margin of each goal; NaN for all but guardrails."""
    margins = np.full(case.goals, np.nan)
    if case.guardrail is not None:
        margins[1 : 1 + case.guardrails] = case.guardrail
    return margins


def _has_data(days: SimulatedDays) -> tuple[BoolArray, BoolArray]:
    """Flag comparisons with enough data for the confidence sequence, and for a single look."""
    case, hits = days.case, days.conversions
    is_mean = np.full(case.goals, case.is_mean)
    is_variant = np.arange(hits.shape[-1]) != 0
    expected = fewest_expected(hits, days.visitors, 0, is_mean=is_mean)
    is_comparable = is_variant & _are_spread(days)
    is_monitored = (expected >= FEWEST_CONVERSIONS) & is_comparable
    visitors = np.broadcast_to(days.visitors[:, None, :].astype(np.int64), hits.shape)
    is_enough = has_enough(visitors, hits.astype(np.int64), is_mean, 0, is_bayesian=case.method == "Bayesian")
    is_enough &= is_comparable
    if case.sequential != "none":
        is_enough &= is_monitored
    return is_monitored, is_enough


def _are_spread(days: SimulatedDays) -> BoolArray:
    """Flag ratios of which no visitor has too much of the denominators; all that is none."""
    if days.sums is None:
        return np.ones(days.conversions.shape, bool)
    total = days.sums.orders.x.total
    shares = np.divide(days.sums.largest_orders, total, out=np.zeros(total.shape), where=total > 0)
    return are_spread(shares, 0)


def _z(days: SimulatedDays, pairs: Pairs, needed: BoolArray) -> FloatArray:
    """Compute the z of a single look in the cells that are needed; NaN elsewhere."""
    z, chosen = np.full(needed.shape, np.nan), pairs[needed]
    if days.case.is_mean:
        log_p = chosen.log_p()
    else:
        hits, n = days.conversions, np.broadcast_to(days.visitors[:, None, :], needed.shape)
        log_p = log_p_shares(Tables.of(hits[..., [0]], n[..., [0]], hits, n)[needed])
    z[needed] = signed_z(log_p, chosen.variant.value >= chosen.control.value)
    return z
