"""By how much each variant differs from the control on each goal, and how surely: the arrays of it.

In here NaN stands where there is no number.


What is believed about conversion rates from the time before the experiment.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.comparison.metrics import control_column, is_revenue, metrics_of
from engine.analysis.comparison.stratified import paired_with
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.arrays import ArrayRecord, FloatArray
from engine.stats.bayesian import posteriors
from engine.stats.bayesian.priors import prior_of_past, update_lift
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist import two_sample
from engine.stats.moments import Moments


def beta_priors(experiment: Experiment, evidence: Evidence) -> FloatArray:
    """The shapes of each goal's Beta prior, goals by two; flat, but for what the pre-period says.

    All arms together had their first exposure still before them, so one prior is of all of them.
    """
    shapes = np.ones((len(experiment.goals), 2))
    if experiment.statistics.prior == "pre_period" and evidence.values is not None:
        before = evidence.values.before.x
        for goal, (converted, visitors) in enumerate(
            zip(before.total.sum(axis=-1), before.n.sum(axis=-1), strict=True)
        ):
            shapes[goal] = prior_of_past(min(float(converted), float(visitors)), float(visitors))
    return shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects(ArrayRecord):
    """Every variant against the control, goals by variants; NaN in the control's own column.

    `improvement`, `low` and `high` are relative changes of the goal's metric (see `metrics.metrics_of`),
    `difference` the absolute one; under a prior all four are the posterior's. `chance` is that
    of the variant's metric being better: higher, or lower where the goal wants less; `loss` what choosing
    it costs on average where it is not, in the metric's unit, and `expected` the difference that the
    posterior of both expects: a prior draws it away from the one observed.
    """

    improvement: FloatArray
    difference: FloatArray
    log_p: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    loss: FloatArray
    expected: FloatArray


def effects_of(experiment: Experiment, evidence: Evidence, alpha: float) -> Effects:
    """Compare every variant with the control on every goal, by the experiment's method, at level `alpha`."""
    effects = Effects.full(evidence.conversions.shape, np.nan)
    control = control_column(experiment)
    if control is not None:
        _compare(experiment, evidence, control, alpha, effects)
    return effects


def has_lift_prior(experiment: Experiment) -> bool:
    """Whether posteriors are of the relative lift, which has a prior of its own."""
    return experiment.analysis_method == "bayesian" and experiment.statistics.prior == "lift"


def relative_change(base: FloatArray, value: FloatArray) -> FloatArray:
    """Value over base, less 1; NaN unless base is above 0, and by enough to divide by."""
    positive = base > 0
    with np.errstate(over="ignore"):
        change = value / np.where(positive, base, 1.0) - 1.0
    return np.where(positive & np.isfinite(change), change, np.nan)


def _compare(
    experiment: Experiment, evidence: Evidence, control: int, alpha: float, effects: Effects
) -> None:
    """Put the effects of every other variant into `effects`."""
    others = np.arange(len(experiment.variants)) != control
    how = _How(experiment, alpha)
    if evidence.epochs is not None:
        # Means of epochs are averaged, and an average of shares is no share of a number of visitors.
        found = _mean_effects(*paired_with(control, experiment, evidence), how)
        effects[:, others] = found[:, others]
        return
    metrics = metrics_of(experiment, evidence)
    means = is_revenue(experiment) | metrics.is_adjusted
    if (~means).any():
        hits = evidence.conversions[~means]
        tables = Tables.of(hits[:, [control]], evidence.visitors[control], hits, evidence.visitors)
        prior = beta_priors(experiment, evidence)[~means]
        effects[np.ix_(~means, others)] = _share_effects(tables, how, prior)[:, others]
    if means.any():
        moments = metrics.moments[means]
        controls = Estimate.of(moments[:, [control]].broadcast_to(moments.n.shape))
        effects[np.ix_(means, others)] = _mean_effects(controls, Estimate.of(moments), how)[:, others]


@dataclass(frozen=True, slots=True)
class _How:
    """By which method and at which level the effects of an experiment are found."""

    experiment: Experiment
    alpha: float

    @property
    def is_bayesian(self) -> bool:
        return self.experiment.analysis_method == "bayesian"

    @property
    def has_lift_prior(self) -> bool:
        return has_lift_prior(self.experiment)


def _share_effects(tables: Tables, how: _How, prior: FloatArray) -> Effects:
    test = two_sample.compare_shares(tables, how.alpha)
    shapes = prior[:, :1], prior[:, 1:]
    posterior = posteriors.compare_shares(tables, shapes)
    low, high = posteriors.share_lift(tables, how.alpha, shapes) if how.is_bayesian else (test.low, test.high)
    has_base = tables.control_hits > 0
    control_share, share = _believed_shares(tables, prior)
    found = Effects(
        improvement=np.where(has_base, relative_change(control_share, share), np.nan),
        difference=share - control_share,
        log_p=test.log_p,
        low=np.where(has_base, low, np.nan),
        high=np.where(has_base, high, np.nan),
        chance=posterior.chance,
        loss=posterior.loss,
        expected=posterior.change,
    )
    if not how.has_lift_prior:
        return found
    controls, variants = (
        Estimate.of(Moments.of_shares(*counts))
        for counts in ((tables.control_hits, tables.control_n), (tables.hits, tables.n))
    )
    return _with_belief(found, controls, variants, how)


def _believed_shares(tables: Tables, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The shares observed; where a prior says more than nothing, those expected under it.

    So that a change lies in its own interval, whatever the prior.
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


def _mean_effects(controls: Estimate, variants: Estimate, how: _How) -> Effects:
    test = two_sample.compare_means(controls, variants, how.alpha)
    posterior = posteriors.compare_means(controls, variants)
    low, high = test.low, test.high
    if how.is_bayesian:
        low, high = posteriors.mean_lift(controls, variants, how.alpha)
    found = Effects(
        improvement=relative_change(controls.value, variants.value),
        difference=variants.value - controls.value,
        log_p=test.log_p,
        low=low,
        high=high,
        chance=posterior.chance,
        loss=posterior.loss,
        expected=posterior.change,
    )
    return _with_belief(found, controls, variants, how) if how.has_lift_prior else found


def _with_belief(found: Effects, controls: Estimate, variants: Estimate, how: _How) -> Effects:
    """The same under the experiment's prior on the lift: every number of a posterior is of that one."""
    statistics = how.experiment.statistics
    posterior = update_lift(
        controls,
        variants,
        prior_mean=statistics.prior_lift_percent / 100,
        prior_deviation=statistics.prior_deviation_percent / 100,
        alpha=2.0 * how.alpha,
    )
    return replace(
        found,
        improvement=posterior.mean,
        difference=posterior.mean * controls.value,
        low=posterior.low,
        high=posterior.high,
        chance=posterior.chance,
        loss=posterior.loss * controls.value,
        expected=posterior.mean * controls.value,
    )
