"""Programme: what the past tests of a project found together, without the winner's curse."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

import numpy as np
import scipy

from engine.analysis.evidence.recorded_looks import RecordedComparison, RecordedLook
from engine.analysis.results.answer_fields import PERCENT, AnswerField, described
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.stats.arrays import BoolArray
from engine.stats.bayesian.shrinkage import shrink, shrink_total
from engine.stats.estimates import Estimate

Metric = Literal["conversion_rate", "funnel", "retained", "revenue_per_visitor", "mean"]
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
ALPHA: Final = 0.05
# A last look with another recommendation decided nothing.
_DECIDED: Final = frozenset({"ship", "rollback", "review"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLift:
    """Lift of a variant over the control in a past test."""

    experiment_id: str
    variant_id: str
    is_winner: Annotated[
        bool,
        described("Whether the test's last look recommended to ship it."),
    ]
    is_shipped: Annotated[
        bool | None, described("Whether it was decided to ship it; null where nothing was decided.")
    ]
    observed_lift: Annotated[
        float,
        AnswerField(
            "percent", "In percent of the control, in the wanted direction of the goal.", example=15.8
        ),
    ]
    shrunk_lift: Annotated[
        float | None,
        AnswerField(
            "percent",
            "The lift given all past lifts of the metric; null where there are fewer than two.",
            example=12.1,
        ),
    ]
    low: Annotated[
        float | None,
        AnswerField("percent", "Lower end of the 95% credible interval of `shrunk_lift`.", example=6.4),
    ]
    high: Annotated[float | None, PERCENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnersTogether:
    """Compound lift of all variants that the last looks of their tests recommended to ship."""

    variants: int
    observed_lift: Annotated[
        float,
        AnswerField(
            "percent",
            "Compound of the observed lifts: biased upwards, since winners were chosen by them.",
            example=31.4,
        ),
    ]
    lift: Annotated[
        float, AnswerField("percent", "Compound of the shrunk lifts, without that bias.", example=24.9)
    ]
    low: Annotated[
        float, AnswerField("percent", "Lower end of the 95% credible interval of `lift`.", example=12.3)
    ]
    high: Annotated[float, PERCENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricProgramme:
    """Past lifts of primary goals with one metric."""

    metric: Metric
    lifts: tuple[PastLift, ...]
    typical_lift: Annotated[
        float | None, AnswerField("percent", "Mean of the family of lifts, in percent.", example=2.1)
    ]
    spread: Annotated[
        float | None,
        AnswerField("percent", "Standard deviation of the family's log lifts, in percent.", example=6.3),
    ]
    winners: Annotated[WinnersTogether | None, described("Null where no variant was recommended.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Programme:
    """Ended tests, the decided ones by recommendation, and the share of these that recommended a variant.

    `conclusions` are what was decided about ended tests, with their numbers.
    """

    ended: int
    decisions: Mapping[str, int]
    conclusions: Mapping[str, int]
    win_rate: float | None
    metrics: tuple[MetricProgramme, ...]

    @property
    def decided(self) -> int:
        """Number of decided tests."""
        return sum(self.decisions.values())


@dataclass(frozen=True, slots=True)
class _LogLift:
    experiment_id: str
    variant_id: str
    is_winner: bool
    is_shipped: bool | None
    value: float
    variance: float


def programme_of(tests: Iterable[tuple[Experiment, RecordedLook | None]]) -> Programme:
    """Describe ended tests, each with its last look; None for a test without one.

    The lifts of each test's primary goal, as logarithms, are one family by metric; each is shrunk towards
    their mean in proportion to its error, with mean and spread estimated from all of them, losers too:
    empirical Bayes, Efron (2010), "Large-Scale Inference", chapter 1, with the error of the spread as in
    Deely and Lindley (1981), JASA 76. So the sum of winners is not biased by their choice.
    """
    given = list(tests)
    decided = [(one, look) for one, look in given if look is not None and look.recommendation in _DECIDED]
    decisions = Counter(look.recommendation for _, look in decided)
    concluded = Counter(one.conclusion.decision for one, _ in given if one.conclusion is not None)
    return Programme(
        ended=len(given),
        decisions=dict(sorted(decisions.items())),
        conclusions=dict(sorted(concluded.items())),
        win_rate=decisions["ship"] / len(decided) if decided else None,
        metrics=tuple(
            _of_metric(metric, lifts)
            for metric in METRICS
            if (lifts := [lift for one, look in decided for lift in _lifts(metric, one, look)])
        ),
    )


def _lifts(metric: Metric, experiment: Experiment, look: RecordedLook) -> Iterable[_LogLift]:
    """Yield the log lifts of a test's variants, where its primary goal has this metric."""
    goal = experiment.primary_goal
    control = next((variant.id for variant in experiment.variants if variant.is_control), "")
    if goal is None or _metric_of(goal) != metric:
        return
    compared, decided = look.comparisons.get(goal.id, {}), experiment.conclusion
    sign = -1.0 if goal.tracking.get("direction") == "decrease" else 1.0
    for variant_id, comparison in compared.items():
        if control not in compared or variant_id == control:
            continue
        logs = _log_mean(comparison), _log_mean(compared[control])
        if logs[0] is not None and logs[1] is not None:
            yield _LogLift(
                experiment.id,
                variant_id,
                is_winner=look.recommendation == "ship" and look.variant_id == variant_id,
                is_shipped=None if decided is None else decided.variant_id == variant_id,
                value=sign * (logs[0][0] - logs[1][0]),
                variance=logs[0][1] + logs[1][1],
            )


def _metric_of(goal: Goal) -> Metric:
    if goal.unit == "cents":
        return "revenue_per_visitor"
    if goal.unit == "number":
        return "mean"
    # Shares of visitors who do several things, or come back, are not of a size with conversion rates.
    match goal.measure.word:
        case "funnel" | "retained" as word:
            return word
        case _:
            return "conversion_rate"


def _log_mean(arm: RecordedComparison) -> tuple[float, float] | None:
    """Return the logarithm of a mean and its variance, by the delta method; None where it has none."""
    if arm.n < 2 or arm.mean <= 0 or arm.m2 <= 0:
        return None
    return float(np.log(arm.mean)), arm.m2 / (arm.n - 1) / arm.n / arm.mean**2


def _of_metric(metric: Metric, lifts: Sequence[_LogLift]) -> MetricProgramme:
    values = np.array([lift.value for lift in lifts])
    variances = np.array([lift.variance for lift in lifts])
    effects = Estimate(values, variances, np.full(values.shape, np.nan))
    found = shrink(effects, alpha=ALPHA)
    return MetricProgramme(
        metric=metric,
        lifts=tuple(
            PastLift(
                experiment_id=lift.experiment_id,
                variant_id=lift.variant_id,
                is_winner=lift.is_winner,
                is_shipped=lift.is_shipped,
                observed_lift=float(np.expm1(lift.value)),
                shrunk_lift=_share(found.mean[number]),
                low=_share(found.low[number]),
                high=_share(found.high[number]),
            )
            for number, lift in enumerate(lifts)
        ),
        typical_lift=_share(float(found.centre)),
        spread=float(found.spread) if np.isfinite(found.spread) else None,
        winners=_winners(effects, np.array([lift.is_winner for lift in lifts])),
    )


def _winners(effects: Estimate, chosen: BoolArray) -> WinnersTogether | None:
    if not chosen.any():
        return None
    observed = float(effects.value[chosen].sum())
    if effects.value.size >= 2:
        mean, low, high = shrink_total(effects, chosen, alpha=ALPHA)
    else:
        # One lift says nothing of others: it stays as it was observed.
        margin = float(scipy.special.ndtri(1.0 - ALPHA / 2.0) * np.sqrt(effects.variance[chosen].sum()))
        mean, low, high = observed, observed - margin, observed + margin
    return WinnersTogether(
        variants=int(chosen.sum()),
        observed_lift=float(np.expm1(observed)),
        lift=float(np.expm1(mean)),
        low=float(np.expm1(low)),
        high=float(np.expm1(high)),
    )


def _share(log_lift: float | np.floating) -> float | None:
    return float(np.expm1(log_lift)) if np.isfinite(log_lift) else None
