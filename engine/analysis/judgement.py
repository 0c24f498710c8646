"""Which variant wins, loses or is undecided on each goal: the arrays behind a report.

Inside, NaN stands where there is no number; a report turns it into None with a reason.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.analysis import bayesian, frequentist
from engine.analysis.evidence import Evidence
from engine.analysis.moments import Moments
from engine.analysis.multiplicity import effective_alpha
from engine.analysis.tables import Tables
from engine.design.experiment import Experiment

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# Below this many visitors in an arm, one more conversion moves its rate by more than a percentage point.
MIN_VISITORS = 100
# Four conversions in all cannot reach 95% even if one arm has every one of them (mid-p 1/16); five can (1/32).
MIN_CONVERSIONS = 5
# Welch's test of revenue leans on the central limit theorem over paying visitors, few and very unequal.
MIN_PAYING_VISITORS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Every variant against the control, goals by variants; the control's own column is NaN.

    `improvement`, `low` and `high` are relative changes of the goal's metric (conversion rate, or revenue
    per visitor), `difference` the absolute change. `chance` is that of the variant's metric being better:
    higher, or lower where the goal wants less. `loss` is in the metric's unit.
    """

    improvement: FloatArray
    difference: FloatArray
    log_p: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    loss: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Comparisons and what follows from them; `status` holds VariantStatus, `lead[g]` a column or -1.

    The lead of a goal is its winner or, without one, the variant with the best metric.
    """

    comparisons: Comparisons
    score: FloatArray
    status: npt.NDArray[np.str_]
    lead: npt.NDArray[np.int64]
    interval_level: float
    alpha: float


def judge(experiment: Experiment, evidence: Evidence) -> Judgement:
    """Compare every variant with the control on every goal, and say who wins."""
    alpha = effective_alpha(experiment.confidence_level, len(experiment.variants))
    control = next((i for i, variant in enumerate(experiment.variants) if variant.is_control), None)
    is_bayesian = experiment.analysis_method == "bayesian"
    comparisons = _compare(experiment, evidence, control, alpha)
    score = comparisons.chance if is_bayesian else -np.expm1(comparisons.log_p)
    good, bad = _decided(comparisons, wants_less(experiment), alpha, is_bayesian=is_bayesian)
    enough = has_enough(experiment, evidence, control)
    lead = _lead(comparisons, wants_less(experiment), good & enough)
    is_lead = np.arange(score.shape[1]) == lead[:, None]
    status = np.select(
        [~enough, good & is_lead, bad], ["insufficient_data", "winner", "loser"], "inconclusive"
    )
    if control is not None:
        status[:, control] = "control"
    # A Bayesian verdict looks at one side, so its interval leaves out alpha on each: they never disagree.
    level = 1.0 - 2.0 * alpha if is_bayesian else 1.0 - alpha
    return Judgement(
        comparisons=comparisons, score=score, status=status, lead=lead, interval_level=level, alpha=alpha
    )


def wants_less(experiment: Experiment) -> BoolArray:
    """Goals for which a lower metric is the better one, as a column."""
    return np.array(
        [[goal.config.get("direction") == "decrease"] for goal in experiment.goals], bool
    ).reshape(-1, 1)


def is_revenue(experiment: Experiment) -> BoolArray:
    """Goals judged on revenue per visitor."""
    return np.array([goal.goal_type == "revenue" for goal in experiment.goals], bool)


def has_enough(experiment: Experiment, evidence: Evidence, control: int | None) -> BoolArray:
    """Where both arms have the visitors, and together the conversions, that a verdict needs."""
    shape = evidence.conversions.shape
    if control is None:
        return np.zeros(shape, bool)
    both = evidence.conversions + evidence.conversions[:, [control]]
    needed = np.where(is_revenue(experiment), MIN_PAYING_VISITORS, MIN_CONVERSIONS)[:, None]
    visitors = np.minimum(evidence.visitors, evidence.visitors[control])
    return np.asarray((both >= needed) & (visitors >= MIN_VISITORS))


def _compare(experiment: Experiment, evidence: Evidence, control: int | None, alpha: float) -> Comparisons:
    shape = evidence.conversions.shape
    names = ("improvement", "difference", "log_p", "low", "high", "chance", "loss")
    arrays = {name: np.full(shape, np.nan) for name in names}
    if control is not None:
        others = np.arange(shape[1]) != control
        money = is_revenue(experiment)
        is_bayesian = experiment.analysis_method == "bayesian"
        for rows, compare in ((~money, _compare_conversions), (money, _compare_revenue)):
            where = np.ix_(rows, others)
            found = compare(evidence, rows, control, alpha, is_bayesian)
            for name, values in found.items():
                arrays[name][where] = values[:, others]
    less = wants_less(experiment)
    # E[max(T - C, 0)] = E[T - C] + E[max(C - T, 0)].
    arrays["loss"] = np.where(less, np.maximum(arrays["loss"] + arrays["difference"], 0.0), arrays["loss"])
    arrays["chance"] = np.where(less, 1.0 - arrays["chance"], arrays["chance"])
    return Comparisons(**arrays)


def _compare_conversions(
    evidence: Evidence, rows: BoolArray, control: int, alpha: float, is_bayesian: bool
) -> dict[str, FloatArray]:
    hits = evidence.conversions[rows]
    tables = Tables.of(hits[:, [control]], evidence.visitors[control], hits, evidence.visitors)
    test, posterior = frequentist.compare_shares(tables, alpha), bayesian.compare_shares(tables)
    low, high = bayesian.share_lift(tables, alpha) if is_bayesian else (test.low, test.high)
    return {
        "improvement": _relative(tables.share, tables.control_share),
        "difference": tables.share - tables.control_share,
        "log_p": test.log_p,
        "low": np.where(tables.control_hits > 0, low, np.nan),
        "high": np.where(tables.control_hits > 0, high, np.nan),
        "chance": posterior.chance,
        "loss": posterior.loss,
    }


def _compare_revenue(
    evidence: Evidence, rows: BoolArray, control: int, alpha: float, is_bayesian: bool
) -> dict[str, FloatArray]:
    variants = _pick(evidence.revenue, rows)
    controls = Moments(*(values[:, [control]] for values in (variants.n, variants.mean, variants.m2)))
    controls = Moments(
        *(np.broadcast_to(v, variants.n.shape) for v in (controls.n, controls.mean, controls.m2))
    )
    test, posterior = (
        frequentist.compare_means(controls, variants, alpha),
        bayesian.compare_means(controls, variants),
    )
    low, high = bayesian.mean_lift(controls, variants, alpha) if is_bayesian else (test.low, test.high)
    seen = (variants.n > 0) & (controls.n > 0)
    return {
        "improvement": np.where(seen, _relative(variants.mean, controls.mean), np.nan),
        "difference": np.where(seen, variants.mean - controls.mean, np.nan),
        "log_p": test.log_p,
        "low": low,
        "high": high,
        "chance": posterior.chance,
        "loss": posterior.loss,
    }


def _pick(moments: Moments, rows: BoolArray) -> Moments:
    return Moments(moments.n[rows], moments.mean[rows], moments.m2[rows])


def _relative(value: FloatArray, base: FloatArray) -> FloatArray:
    """value / base - 1; NaN unless base is above 0."""
    positive = base > 0
    return np.where(positive, value / np.where(positive, base, 1.0) - 1.0, np.nan)


def _decided(
    comparisons: Comparisons, less: BoolArray, alpha: float, *, is_bayesian: bool
) -> tuple[BoolArray, BoolArray]:
    """Where the variant is better for sure enough, and where it is worse."""
    if is_bayesian:
        return comparisons.chance >= 1.0 - alpha, comparisons.chance <= alpha
    significant = comparisons.log_p <= np.log(alpha)
    gain = np.where(less, -comparisons.difference, comparisons.difference)
    return significant & (gain > 0), significant & (gain < 0)


def _lead(comparisons: Comparisons, less: BoolArray, winners: BoolArray) -> npt.NDArray[np.int64]:
    gain = np.where(less, -comparisons.difference, comparisons.difference)
    gain = np.where(np.isnan(gain), -np.inf, gain)
    among_winners = np.where(winners, gain, -np.inf)
    best = np.where(winners.any(axis=1)[:, None], among_winners, gain)
    if best.shape[1] == 0:
        return np.full(best.shape[0], -1)
    return np.where(np.isfinite(best).any(axis=1), best.argmax(axis=1), -1)
