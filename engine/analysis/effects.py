"""By how much each variant differs from the control on each goal, and how surely: the arrays of it.

In here NaN stands where there is no number.
"""

from dataclasses import dataclass

import numpy as np

from engine.analysis import bayesian, frequentist
from engine.analysis.estimates import Estimate
from engine.analysis.evidence import Evidence
from engine.analysis.metrics import control_column, is_revenue
from engine.analysis.moments import BoolArray, FloatArray
from engine.analysis.pairs import paired_with
from engine.analysis.tables import Tables
from engine.design.experiment import Experiment


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


def effects_of(experiment: Experiment, evidence: Evidence, alpha: float) -> Effects:
    """Compare every variant with the control on every goal, by the experiment's method, at level `alpha`."""
    effects = Effects.none(evidence.conversions.shape)
    control = control_column(experiment)
    if control is not None:
        _compare(experiment, evidence, control, alpha, effects)
    return effects


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
    money = is_revenue(experiment)
    bayesian_intervals = experiment.analysis_method == "bayesian"
    if evidence.epochs is not None:
        # Means of epochs are averaged, and an average of shares is no share of a number of visitors.
        controls, variants = paired_with(control, experiment, evidence)
        found = _mean_effects(controls, variants, alpha, bayesian_intervals=bayesian_intervals)
        effects.put(np.ones(len(money), bool), others, found)
        return
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
