"""Statistics of simulated tests at every daily look, by the functions that results use."""

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.enough_data import has_enough
from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS, fewest_expected
from engine.analysis.decision.look_statistics import LookStatistics, log_p_of_few
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.simulated_days import SimulatedDays
from engine.design.planning.plan_days import FIRST_DAY
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist.equivalence import equivalence, relative_z
from engine.stats.frequentist.two_sample import compare_means, log_p_shares
from engine.stats.log_p_values import signed_z
from engine.stats.skewness import PooledCumulants


def compare_days(days: SimulatedDays, *, equivalence_margin: npt.ArrayLike) -> LookStatistics:
    """Compare every variant with the control at every look.

    `equivalence_margin` broadcasts to runs by days by goals by variants.
    """
    case, hits = days.case, days.conversions
    variant = Estimate.of(days.moments)
    control = variant[..., [0]].broadcast_to(hits.shape)
    cumulants = PooledCumulants.of(days.moments[..., [0]].broadcast_to(hits.shape), days.moments)
    is_variant = np.arange(hits.shape[-1]) != 0
    is_monitored, is_enough = _has_data(days)
    # No other cell is judged: a plan is reached in the second week at the earliest.
    is_second_week = np.arange(1, hits.shape[1] + 1) >= FIRST_DAY
    needed = is_monitored | (is_enough & is_second_week[:, None, None])
    bounds = equivalence(control, variant, margin=equivalence_margin, cumulants=cumulants)
    kept = 1.0 - guardrail_margins(case)[:, None]
    margin_z = relative_z(control, variant, ratio=kept, cumulants=cumulants)
    log_p_margin = np.full(hits.shape, np.nan)
    if case.orders is None:
        log_p_margin = log_p_of_few(hits, days.visitors, 0, kept=kept, wanted=np.ones(kept.shape))
    return LookStatistics(
        z=_z(days, control, variant, cumulants, needed),
        is_monitored=is_monitored,
        is_enough=is_enough,
        above=np.where(is_variant, bounds.above, np.nan),
        below=np.where(is_variant, bounds.below, np.nan),
        margin_z=np.where(is_variant, margin_z, np.nan),
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
    is_revenue = np.full(case.goals, case.orders is not None)
    is_variant = np.arange(hits.shape[-1]) != 0
    expected = fewest_expected(hits, days.visitors, 0, is_mean=is_revenue)
    is_monitored = (expected >= FEWEST_CONVERSIONS) & is_variant
    visitors = np.broadcast_to(days.visitors[:, None, :].astype(np.int64), hits.shape)
    is_enough = has_enough(
        visitors, hits.astype(np.int64), is_revenue, 0, is_bayesian=case.method == "Bayesian"
    )
    is_enough &= is_variant
    if case.sequential != "none":
        is_enough &= is_monitored
    return is_monitored, is_enough


def _z(
    days: SimulatedDays,
    control: Estimate,
    variant: Estimate,
    cumulants: PooledCumulants,
    needed: BoolArray,
) -> FloatArray:
    """Compute the z of a single look in the cells that are needed; NaN elsewhere."""
    z = np.full(needed.shape, np.nan)
    hits, n = days.conversions, np.broadcast_to(days.visitors[:, None, :], needed.shape)
    if days.case.orders is None:
        log_p = log_p_shares(Tables.of(hits[..., [0]], n[..., [0]], hits, n)[needed])
    else:
        skewness = cumulants[needed].skewness()
        log_p = compare_means(control[needed], variant[needed], days.case.alpha, skewness).log_p
    z[needed] = signed_z(log_p, (variant.value >= control.value)[needed])
    return z
