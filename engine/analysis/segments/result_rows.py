"""One result a segment and goal, out of the arrays: where numbers that do not exist become None."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.metrics import is_revenue
from engine.analysis.comparison.significance import MIN_CONVERSIONS, MIN_PAYING_VISITORS, MIN_VISITORS
from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.results.report import Interval
from engine.analysis.results.segment_report import SegmentArm, SegmentResult, SegmentVariant
from engine.analysis.segments.effects import SegmentEffects
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTable:
    """Findings ready to be told: S segments by G goals by C challengers, None where there is no number.

    `told` has a nested list for each of a challenger's numbers. `differs` is where the effect differs from
    that of the rest, `tested` where that could be tested, and `visitors` how many a segment has in all.
    """

    experiment: Experiment
    evidence: SegmentEvidence
    control: int | None
    level: float
    told: dict[str, Any]
    differs: BoolArray
    tested: BoolArray
    visitors: IntArray

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        evidence: SegmentEvidence,
        control: int | None,
        findings: SegmentEffects | None,
        alpha: float,
    ) -> Self:
        """Take the findings of the challengers; there are none without a control."""
        none = np.zeros((len(evidence.segments), len(experiment.goals), 0), bool)
        tested = none if findings is None else ~np.isnan(findings.log_p_differs)
        differs = none if findings is None else tested & (findings.log_p_differs <= np.log(alpha))
        return cls(
            experiment=experiment,
            evidence=evidence,
            control=control,
            level=1.0 - alpha,
            told={} if findings is None else _told(experiment, evidence, findings, differs, alpha),
            differs=differs,
            tested=tested,
            visitors=evidence.counts.visitors.sum(axis=1),
        )

    def result(self, row: int, goal: int) -> SegmentResult:
        """What the segment of that row says about the goal in that place."""
        segment, columns = self.evidence.segments[row], range(len(self.experiment.variants))
        others = [column for column in columns if column != self.control] if self.told else []
        return SegmentResult(
            dimension=segment.dimension,
            value=segment.value,
            control=None if self.control is None else SegmentArm(**self._counted(row, goal, self.control)),
            variants=tuple(self._challenger(row, goal, place, column) for place, column in enumerate(others)),
        )

    def _challenger(self, row: int, goal: int, place: int, column: int) -> SegmentVariant:
        numbers = {name: values[row][goal][place] for name, values in self.told.items()}
        low, high = numbers.pop("low"), numbers.pop("high")
        interval = None if low is None or high is None else Interval(low=low, high=high, level=self.level)
        return SegmentVariant(**self._counted(row, goal, column), shrunk_interval=interval, **numbers)

    def _counted(self, row: int, goal: int, column: int) -> dict[str, Any]:
        """What the visitors of one arm did."""
        counts, variant = self.evidence.counts, self.experiment.variants[column]
        visitors, conversions = int(counts.visitors[row, column]), int(counts.conversions[row, goal, column])
        mean = float(counts.revenue.mean[row, goal, column])
        return {
            "variant_id": variant.id,
            "variant_name": variant.name,
            "visitors": visitors,
            "conversions": conversions,
            "conversion_rate": conversions / visitors if visitors else 0.0,
            "revenue_cents": round(mean * float(counts.revenue.n[row, goal, column])),
            "revenue_per_visitor_cents": mean,
        }


def _told(
    experiment: Experiment,
    evidence: SegmentEvidence,
    findings: SegmentEffects,
    differs: BoolArray,
    alpha: float,
) -> dict[str, Any]:
    called = findings.enough & (findings.log_p <= np.log(alpha))
    tested = ~np.isnan(findings.log_p_differs)
    better, worse = called & findings.is_gain, called & ~findings.is_gain
    status = np.select(
        [~findings.enough, better, worse, differs],
        ["insufficient_data", "better", "worse", "differs"],
        "inconclusive",
    )
    return {
        "improvement": _numbers(findings.improvement),
        "rest_improvement": _numbers(findings.rest_improvement),
        "shrunk_improvement": _numbers(findings.shrunk),
        "low": _numbers(findings.low),
        "high": _numbers(findings.high),
        "chance_to_beat": _numbers(findings.chance),
        "adjusted_p_value": _numbers(np.exp(findings.log_p)),
        "adjusted_p_value_vs_rest": _numbers(np.exp(findings.log_p_differs)),
        "differs_from_rest": _where(tested, differs),
        "status": status.tolist(),
        "reason": _reasons(experiment, evidence, findings),
    }


def _numbers(values: FloatArray) -> Any:  # noqa: ANN401  # lists of lists of lists
    return _where(np.isfinite(values), values)


def _where(there: BoolArray, values: npt.NDArray[Any]) -> Any:  # noqa: ANN401  # lists of lists of lists
    """The values as nested lists, None where there is none."""
    told = values.astype(object)
    told[~there] = None
    return told.tolist()


def _reasons(experiment: Experiment, evidence: SegmentEvidence, findings: SegmentEffects) -> Any:  # noqa: ANN401  # lists of lists of lists
    """What is in the way of a full answer, the first reason that holds; None if none does."""
    shape = findings.enough.shape
    rest = evidence.everyone.visitors - evidence.counts.visitors
    alone = np.broadcast_to((rest.sum(axis=1) == 0)[:, None, None], shape)
    money = np.broadcast_to(is_revenue(experiment)[:, None], shape)
    stands_in_the_way = (
        (
            ~findings.enough & money,
            _too_few(f"{MIN_PAYING_VISITORS} paying visitors, more where they are unequal"),
        ),
        (~findings.enough, _too_few(f"{MIN_CONVERSIONS} conversions")),
        (
            np.isnan(findings.log_p),
            "every visitor of a variant brought the same, so chance can't be measured",
        ),
        (np.isnan(findings.improvement), "the control has nothing here to take a relative change of"),
        (alone, "everybody is in this segment, so there is no rest to compare it with"),
        (~findings.enough_rest, "the rest of the visitors are too few to compare it with"),
        (np.isnan(findings.log_p_differs), "chance can't be measured in the rest of the visitors"),
        (np.isnan(findings.shrunk), "no other value of the dimension has enough data to learn from"),
    )
    told = np.full(shape, None, object)
    for holds, reason in reversed(stands_in_the_way):
        told[holds] = reason
    return told.tolist()


def _too_few(conversions: str) -> str:
    return f"both variants need {MIN_VISITORS} visitors here, and together {conversions}"
