"""Effects of each variant against the control: lift, interval, p value and chance to beat, as arrays.

NaN stands where there is no number.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.pairs import Pairs
from engine.analysis.comparison.plan import AnalysisPlan, LiftPrior
from engine.analysis.comparison.quantiles import compare_arms
from engine.analysis.evidence.evidence import Evidence
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.bayesian import posteriors
from engine.stats.bayesian.priors import LiftPosterior, estimate_shares, update_lift
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist import two_sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects(ArrayRecord):
    """Every variant against the control, goals by variants; NaN in the control's own column.

    `improvement`, `low` and `high` are relative changes of the goal's metric (see `metrics.measure`),
    `difference` the absolute one; under a prior all four are the posterior's. A Bayesian `improvement` that
    its credible interval leaves out, as where an arm has no conversions, is the posterior's median instead.
    `chance` is that of the variant's metric being better: higher, or lower where the goal wants less; `loss`
    the expected cost of choosing it where it is not, in the metric's unit.
    """

    improvement: FloatArray
    difference: FloatArray
    log_p: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    loss: FloatArray


@dataclass(frozen=True, slots=True)
class _Method:
    """Method of some goals' comparison.

    `alpha` is the level of tests, one for all or one each; `tail` what a credible interval leaves out on
    each side; `wanted` a column of 1, or -1 where less is better.
    """

    alpha: npt.ArrayLike
    tail: float
    is_bayesian: bool
    lift_prior: LiftPrior | None
    wanted: FloatArray

    @classmethod
    def of(cls, plan: AnalysisPlan, alpha: npt.ArrayLike, rows: BoolArray) -> "_Method":
        """Take the part of some goals."""
        each = np.asarray(alpha, np.float64)
        return cls(
            alpha=each[rows] if each.ndim else alpha,
            tail=plan.comparison_alpha,
            is_bayesian=plan.is_bayesian,
            lift_prior=plan.lift_prior,
            wanted=plan.wanted[rows],
        )


def compare_with_control(data: AnalysisData, alpha: npt.ArrayLike) -> Effects:
    """Compare every variant with the control on every goal, by the experiment's method, at level `alpha`.

    `alpha` is a share: one for all, or one for each goal and variant.
    """
    plan, evidence = data.plan, data.evidence
    effects = Effects.full(evidence.conversions.shape, np.nan)
    if plan.control is None or data.pairs is None:
        return effects
    # Means of epochs are averaged, and an average of shares is no share of a number of visitors.
    is_mean = data.is_mean | (data.by_epoch is not None)
    if (~is_mean).any():
        method = _Method.of(plan, alpha, ~is_mean)
        shares = _share_effects(evidence, plan.control, ~is_mean, data.beta_priors[~is_mean], method)
        effects[np.ix_(~is_mean, plan.challengers)] = shares[:, plan.challengers]
    if is_mean.any():
        method = _Method.of(plan, alpha, is_mean)
        means = _mean_effects(data.pairs, is_mean, method)
        effects[np.ix_(is_mean, plan.challengers)] = means[:, plan.challengers]
    levels = np.broadcast_to(np.asarray(alpha, np.float64), effects.log_p.shape)
    for row, quantile in evidence.quantiles.items():
        found = compare_arms(quantile, plan.control, levels[row])[plan.challengers]
        effects.log_p[row, plan.challengers] = found.log_p
        if not plan.is_bayesian:
            effects.low[row, plan.challengers] = found.lift_low
            effects.high[row, plan.challengers] = found.lift_high
    return effects


def lift_intervals(data: AnalysisData, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the intervals of the lift by the frequentist test at the levels `alpha`, goals by variants.

    NaN where `alpha` is, and in the control's column.
    """
    low, high = np.full(alpha.shape, np.nan), np.full(alpha.shape, np.nan)
    control, evidence = data.plan.control, data.evidence
    if control is None or data.pairs is None:
        return low, high
    is_mean = (data.is_mean | (data.by_epoch is not None))[:, None]
    counted = ~np.isnan(alpha) & (np.arange(alpha.shape[1]) != control)
    shares, means = counted & ~is_mean, counted & is_mean
    if shares.any():
        tables = rate_tables(evidence, control)[shares]
        low[shares], high[shares] = two_sample.lift_interval_of_shares(tables, alpha[shares])
    if means.any():
        test = data.pairs[means].compare(alpha[means])
        low[means], high[means] = test.low, test.high
    for row, quantile in evidence.quantiles.items():
        found, here = compare_arms(quantile, control, alpha[row]), counted[row]
        low[row, here], high[row, here] = found.lift_low[here], found.lift_high[here]
    return low, high


def rate_tables(evidence: Evidence, control: int) -> Tables:
    """Tabulate conversions of every variant and the control, goals by variants."""
    hits, n = evidence.conversions, evidence.trials
    return Tables.of(hits[:, [control]], n[:, [control]], hits, n)


def relative_change(base: FloatArray, value: FloatArray) -> FloatArray:
    """Divide value by base, less 1; NaN unless base is above 0, and by enough to divide by."""
    positive = base > 0
    with np.errstate(over="ignore"):
        change = value / np.where(positive, base, 1.0) - 1.0
    return np.where(positive & np.isfinite(change), change, np.nan)


def _share_effects(
    evidence: Evidence, control: int, goals: BoolArray, prior: FloatArray, method: _Method
) -> Effects:
    """Compare conversion rates; `prior` has the two shapes of each goal's Beta prior."""
    tables = rate_tables(evidence, control)[goals]
    shapes = prior[:, :1], prior[:, 1:]
    posterior = posteriors.compare_shares(tables, shapes)
    if method.is_bayesian:
        low, high = posteriors.share_lift(tables, method.tail, shapes)
    else:
        low, high = two_sample.lift_interval_of_shares(tables, method.alpha)
    has_base = tables.control_hits > 0
    control_share, share = _posterior_shares(tables, prior)
    improvement = np.where(has_base, relative_change(control_share, share), np.nan)
    if method.is_bayesian:

        def median(where: BoolArray) -> FloatArray:
            picked = [np.broadcast_to(shape, where.shape)[where] for shape in shapes]
            return posteriors.share_lift(tables[where], 0.5, (picked[0], picked[1]))[0]

        improvement = _median_where_outside(improvement, low, high, median)
    effects = Effects(
        improvement=improvement,
        difference=share - control_share,
        log_p=two_sample.log_p_shares(tables),
        low=np.where(has_base, low, np.nan),
        high=np.where(has_base, high, np.nan),
        chance=_chance_of_better(posterior, method.wanted),
        loss=_loss_of_choosing(posterior, method.wanted),
    )
    if method.lift_prior is None:
        return effects
    informed = _with_lift_prior(effects, *estimate_shares(tables), method)
    # The normal approximation reaches below a rate of 0.
    return replace(informed, low=np.maximum(informed.low, -1.0))


def _posterior_shares(tables: Tables, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rates observed; under an informative prior, the posterior means.

    So a change lies in its own interval, whatever the prior.
    """
    worth = (prior - 1.0).sum(axis=1, keepdims=True)
    a, both = prior[:, :1], prior.sum(axis=1, keepdims=True)
    counts = (
        (tables.control_hits, tables.control_n, tables.control_share),
        (tables.hits, tables.n, tables.share),
    )
    control, variant = (
        np.where((worth > 0) & (n > 0), (hits + a) / (n + both), observed) for hits, n, observed in counts
    )
    return control, variant


def _mean_effects(pairs: Pairs, goals: BoolArray, method: _Method) -> Effects:
    """Compare means."""
    controls, variants = pairs.control[goals], pairs.variant[goals]
    test = pairs[goals].compare(method.alpha)
    posterior = posteriors.compare_means(controls, variants)
    low, high = test.low, test.high
    if method.is_bayesian:
        low, high = posteriors.mean_lift(controls, variants, method.tail)
    effects = Effects(
        improvement=relative_change(controls.value, variants.value),
        difference=variants.value - controls.value,
        log_p=test.log_p,
        low=low,
        high=high,
        chance=_chance_of_better(posterior, method.wanted),
        loss=_loss_of_choosing(posterior, method.wanted),
    )
    return effects if method.lift_prior is None else _with_lift_prior(effects, controls, variants, method)


def _with_lift_prior(effects: Effects, controls: Estimate, variants: Estimate, method: _Method) -> Effects:
    """Replace all numbers of a posterior by those under the experiment's prior on the lift.

    Where there is no lift, as where the control's revenue is negative, they stay those under a flat prior.
    """
    if method.lift_prior is None:
        return effects
    prior_mean, prior_deviation = method.lift_prior.mean, method.lift_prior.deviation

    def posterior_of(where: BoolArray | slice, alpha: float) -> LiftPosterior:
        return update_lift(
            controls[where],
            variants[where],
            prior_mean=prior_mean,
            prior_deviation=prior_deviation,
            alpha=alpha,
        )

    lift = posterior_of(slice(None), 2.0 * method.tail)
    mean = _median_where_outside(lift.mean, lift.low, lift.high, lambda where: posterior_of(where, 1.0).low)
    change = lift.mean * controls.value
    posterior = posteriors.Posterior(chance=lift.chance, loss=lift.loss * controls.value, change=change)
    informed = replace(
        effects,
        improvement=mean,
        difference=change,
        low=lift.low,
        high=lift.high,
        chance=_chance_of_better(posterior, method.wanted),
        loss=_loss_of_choosing(posterior, method.wanted),
    )
    return Effects.where(lift.defined, informed, effects)


def _median_where_outside(
    improvement: FloatArray, low: FloatArray, high: FloatArray, median: Callable[[BoolArray], FloatArray]
) -> FloatArray:
    """Take the posterior's median where the interval from `low` to `high` leaves out an improvement."""
    outside = (improvement < low) | (improvement > high)
    if not outside.any():
        return improvement
    inside = improvement.copy()
    inside[outside] = median(outside)
    return inside


def _chance_of_better(posterior: posteriors.Posterior, wanted: FloatArray) -> FloatArray:
    return np.where(wanted < 0, 1.0 - posterior.chance, posterior.chance)


def _loss_of_choosing(posterior: posteriors.Posterior, wanted: FloatArray) -> FloatArray:
    # E[max(d, 0)] = E[max(-d, 0)] + E[d], all of one posterior.
    lowered = np.maximum(posterior.loss + posterior.change, 0.0)
    return np.where(wanted < 0, lowered, posterior.loss)
