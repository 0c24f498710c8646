"""Each variant beside the control, as estimates that are fair to both: by epoch, where weights changed.

What a comparison is of, where the weights of the variants changed on the way.
"""

import numpy as np

from engine.analysis.comparison.metrics import control_column, is_revenue, metric_moments
from engine.analysis.evidence.totals import Evidence
from engine.analysis.results.formatting import share
from engine.analysis.results.report import Estimand, WeightEpochResult
from engine.design.experiment import Experiment
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.stratification import Stratified, stratify


def paired_with(control: int, experiment: Experiment, evidence: Evidence) -> tuple[Estimate, Estimate]:
    """The control and each variant on each goal's metric, goals by variants.

    Where weights changed these are means within epochs, averaged over the epochs in which both had
    visitors (`bandit.stratify`), so that the control's differ from variant to variant. Elsewhere they are
    plain means.
    """
    by_epoch = stratified(control, experiment, evidence)
    if by_epoch is not None:
        return by_epoch.control, by_epoch.variant
    moments = metric_moments(experiment, evidence)
    return Estimate.of(moments[:, [control]].broadcast_to(moments.n.shape)), Estimate.of(moments)


def stratified(control: int, experiment: Experiment, evidence: Evidence) -> Stratified | None:
    """Both by epoch, and the share of their visitors that is compared; None where weights never changed."""
    epochs = evidence.epochs
    if epochs is None:
        return None
    shares = Moments.of_shares(epochs.conversions, epochs.visitors[:, None, :])
    money = is_revenue(experiment)[:, None]
    return _against(control, Moments.where(money, epochs.revenue, shares))


def revenue_means(control: int, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Cents per visitor of the control and of each variant, goals by variants, by epoch where need be.

    NaN where there is nothing to compare.
    """
    if evidence.epochs is None:
        mean = evidence.revenue.mean
        return np.broadcast_to(mean[:, [control]], mean.shape), mean
    found = _against(control, evidence.epochs.revenue)
    return found.control.value, found.variant.value


def compared_share(experiment: Experiment, evidence: Evidence) -> float | None:
    """The least share of a variant's and the control's visitors that is compared.

    1 where weights never changed; None without a control or visitors.
    """
    control = control_column(experiment)
    if control is None or not evidence.visitors.any():
        return None
    if evidence.epochs is None:
        return 1.0
    visitors = evidence.epochs.visitors.astype(np.float64)
    zero = np.zeros(visitors.shape)
    covered = _against(control, Moments(visitors, zero, zero)).covered
    others = (np.arange(len(covered)) != control) & (evidence.visitors > 0)
    return float(covered[others].min()) if others.any() else None


def _against(control: int, moments: Moments) -> Stratified:
    return stratify(moments[..., [control]].broadcast_to(moments.n.shape), moments)


def estimand_of(experiment: Experiment, evidence: Evidence) -> Estimand | None:
    """Say what is estimated; None where weights never changed."""
    epochs = evidence.epochs
    if epochs is None:
        return None
    ids = [variant.id for variant in experiment.variants]
    compared = compared_share(experiment, evidence)
    left_out = "" if compared is None or compared == 1.0 else f" {share(compared)} of them are compared."
    description = (
        f"Weights changed {len(epochs) - 1:,} times, so visitors are compared with those who came under the"
        " same weights, and these comparisons are averaged by how many visitors came. Improvements, intervals"
        " and scores are of the mean had every visitor of the epochs compared seen the variant; rates are of"
        f" the visitors who did.{left_out}{_unused(experiment)}"
    )
    return Estimand(
        description=description.replace("changed 1 times", "changed once"),
        compared_share=compared,
        epochs=tuple(
            WeightEpochResult(
                started_at=started_at,
                weights=dict(zip(ids, weights, strict=True)),
                visitors=dict(zip(ids, visitors, strict=True)),
            )
            for started_at, weights, visitors in zip(
                epochs.started_at, epochs.weights.tolist(), epochs.visitors.tolist(), strict=True
            )
        ),
    )


def _unused(experiment: Experiment) -> str:
    """Say which settings apply to all visitors together only."""
    settings = [goal.tracking for goal in experiment.goals]
    unused = {
        "what visitors did before": experiment.statistics.uses_pre_period,
        "caps": any(one.get("cap_percentile") is not None for one in settings),
        "orders as the unit": any(one.get("per") == "order" for one in settings),
    }
    named = ", ".join(name for name, is_set in unused.items() if is_set)
    return f" Not known by epoch, and so not used: {named}." if named else ""
