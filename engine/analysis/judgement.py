"""Which variant wins, loses or is undecided on each goal: the arrays behind a report.

In here NaN stands where there is no number; a report turns it into None with a reason.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.analysis import bayesian, frequentist
from engine.analysis.estimates import Estimate
from engine.analysis.evidence import Evidence
from engine.analysis.moments import BoolArray, FloatArray
from engine.analysis.multiplicity import effective_alpha
from engine.analysis.tables import Tables
from engine.design.experiment import Experiment

# Below this many visitors in an arm, one conversion more moves its rate by over a percentage point.
MIN_VISITORS = 100
# Four conversions can't reach 95% even if all are in one of two equal arms (p = 1/16); five can (1/32).
MIN_CONVERSIONS = 5
# Welch's test of revenue leans on the central limit theorem over paying visitors, few and very unequal.
MIN_PAYING_VISITORS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Every variant against the control, goals by variants; NaN in the control's own column.

    `improvement`, `low` and `high` are relative changes of the goal's metric (conversion rate, or revenue
    per visitor), `difference` the absolute one. `chance` is that of the variant's metric being better:
    higher, or lower where the goal wants less; `loss` what choosing it costs on average where it is not,
    in the metric's unit.
    """

    improvement: FloatArray
    difference: FloatArray
    log_p: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    loss: FloatArray

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> "Effects":
        """No effect known in any cell."""
        return cls(**{name: np.full(shape, np.nan) for name in cls.__slots__})

    def put(self, rows: BoolArray, columns: BoolArray, found: "Effects") -> None:
        """Fill in the cells of some rows and columns from effects with those rows and every column."""
        for name in self.__slots__:
            getattr(self, name)[np.ix_(rows, columns)] = getattr(found, name)[:, columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Effects and what follows from them.

    `status` holds a VariantStatus a cell, `gain` the difference with the sign turned where less is better,
    `confidence` 1 - p, and `score` what the experiment's method is judged on. `lead[g]` is the column of
    the goal's best winner or, without one, of the best challenger; -1 if there is none. `control` is a
    column, too.
    """

    control: int | None
    alpha: float
    interval_level: float
    effects: Effects
    gain: FloatArray
    confidence: FloatArray
    score: FloatArray
    status: npt.NDArray[np.str_]
    lead: npt.NDArray[np.int64]


def judge(experiment: Experiment, evidence: Evidence) -> Judgement:
    """Compare every variant with the control on every goal, and say who wins."""
    alpha = effective_alpha(experiment.confidence_level, len(experiment.variants))
    is_bayesian = experiment.analysis_method == "bayesian"
    control = control_column(experiment)
    effects = Effects.none(evidence.conversions.shape)
    if control is not None:
        _compare(experiment, evidence, control, alpha, effects)
    less = np.array([goal.config.get("direction") == "decrease" for goal in experiment.goals], bool)[:, None]
    effects.loss[:] = np.where(less, np.maximum(effects.loss + effects.difference, 0.0), effects.loss)
    effects.chance[:] = np.where(less, 1.0 - effects.chance, effects.chance)
    gain = np.where(less, -effects.difference, effects.difference)
    confidence = -np.expm1(effects.log_p)
    if is_bayesian:
        better, worse = effects.chance >= 1.0 - alpha, effects.chance <= alpha
    else:
        significant = effects.log_p <= np.log(alpha)
        better, worse = significant & (gain > 0), significant & (gain < 0)
    enough = _has_enough(experiment, evidence, control)
    lead = _lead(gain, better & enough, enough)
    return Judgement(
        control=control,
        alpha=alpha,
        # A Bayesian verdict looks to one side, so its interval leaves out alpha on each: they never disagree.
        interval_level=1.0 - 2.0 * alpha if is_bayesian else 1.0 - alpha,
        effects=effects,
        gain=gain,
        confidence=confidence,
        score=effects.chance if is_bayesian else confidence,
        status=_status(control, better=better, worse=worse, enough=enough),
        lead=lead,
    )


def control_column(experiment: Experiment) -> int | None:
    """Where the control stands among the variants; None while there is none."""
    return next((i for i, variant in enumerate(experiment.variants) if variant.is_control), None)


def is_revenue(experiment: Experiment) -> BoolArray:
    """Which goals are judged on revenue per visitor; the others on their conversion rate."""
    return np.array([goal.goal_type == "revenue" for goal in experiment.goals], bool)


def _compare(
    experiment: Experiment, evidence: Evidence, control: int, alpha: float, effects: Effects
) -> None:
    """Put the effects of every other variant into `effects`."""
    others = np.arange(len(experiment.variants)) != control
    money = is_revenue(experiment)
    bayesian_intervals = experiment.analysis_method == "bayesian"
    if (~money).any():
        hits = evidence.conversions[~money]
        tables = Tables.of(hits[:, [control]], evidence.visitors[control], hits, evidence.visitors)
        effects.put(~money, others, _share_effects(tables, alpha, bayesian_intervals=bayesian_intervals))
    if money.any():
        moments = evidence.revenue[money]
        variants, controls = (
            Estimate.of(moments),
            Estimate.of(moments[:, [control]].broadcast_to(moments.n.shape)),
        )
        effects.put(
            money, others, _mean_effects(controls, variants, alpha, bayesian_intervals=bayesian_intervals)
        )


def _share_effects(tables: Tables, alpha: float, *, bayesian_intervals: bool) -> Effects:
    test, posterior = frequentist.compare_shares(tables, alpha), bayesian.compare_shares(tables)
    low, high = bayesian.share_lift(tables, alpha) if bayesian_intervals else (test.low, test.high)
    has_base = tables.control_hits > 0
    return Effects(
        improvement=relative_change(tables.control_share, tables.share),
        difference=tables.share - tables.control_share,
        log_p=test.log_p,
        low=np.where(has_base, low, np.nan),
        high=np.where(has_base, high, np.nan),
        chance=posterior.chance,
        loss=posterior.loss,
    )


def _mean_effects(
    controls: Estimate, variants: Estimate, alpha: float, *, bayesian_intervals: bool
) -> Effects:
    test, posterior = (
        frequentist.compare_means(controls, variants, alpha),
        bayesian.compare_means(controls, variants),
    )
    low, high = bayesian.mean_lift(controls, variants, alpha) if bayesian_intervals else (test.low, test.high)
    return Effects(
        improvement=relative_change(controls.value, variants.value),
        difference=variants.value - controls.value,
        log_p=test.log_p,
        low=low,
        high=high,
        chance=posterior.chance,
        loss=posterior.loss,
    )


def relative_change(base: FloatArray, value: FloatArray) -> FloatArray:
    """Value over base, less 1; NaN unless base is above 0, and by enough to divide by."""
    positive = base > 0
    with np.errstate(over="ignore"):
        change = value / np.where(positive, base, 1.0) - 1.0
    return np.where(positive & np.isfinite(change), change, np.nan)


def _has_enough(experiment: Experiment, evidence: Evidence, control: int | None) -> BoolArray:
    """Where both arms have the visitors, and together the conversions, that a verdict needs."""
    if control is None:
        return np.zeros(evidence.conversions.shape, bool)
    together = evidence.conversions + evidence.conversions[:, [control]]
    needed = np.where(is_revenue(experiment), MIN_PAYING_VISITORS, MIN_CONVERSIONS)[:, None]
    enough: BoolArray = (together >= needed) & (
        np.minimum(evidence.visitors, evidence.visitors[control]) >= MIN_VISITORS
    )
    return enough


def _lead(gain: FloatArray, winners: BoolArray, enough: BoolArray) -> npt.NDArray[np.int64]:
    """The best winner; without any the best variant that can be judged; without any the best there is."""
    known = ~np.isnan(gain)
    if not known.any():
        return np.full(len(gain), -1)
    rank = np.where(winners, 2, np.where(enough, 1, 0))
    first = known & (rank == np.where(known, rank, -1).max(axis=1, keepdims=True))
    return np.where(known.any(axis=1), np.where(first, gain, -np.inf).argmax(axis=1), -1)


def _status(
    control: int | None,
    *,
    better: BoolArray,
    worse: BoolArray,
    enough: BoolArray,
) -> npt.NDArray[np.str_]:
    status = np.select([~enough, better, worse], ["insufficient_data", "winner", "loser"], "inconclusive")
    if control is not None:
        status[:, control] = "control"
    return status
