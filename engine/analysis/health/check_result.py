"""Input and result of a health check."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.influence import Influence
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.sample_plan import SamplePlan
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.sample_split import SampleSplit, split_visitors
from engine.analysis.results.report import CheckStatus
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray

# A split this unlikely under the configured weights, however often one looks, is a fault, not chance.
SAMPLE_RATIO_ALARM = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """Input of every check.

    The evidence of an experiment with the plan of its analysis, the shares of all visitors that variants
    should have, its sample plan, the split of its visitors by epoch, and the time. `is_decided` where these
    data, if they are sound, decide the experiment. `influence` is that of single visitors, and `turns` flags
    the findings that one of them makes, goals by variants; None where they are not known.
    """

    experiment: Experiment
    evidence: Evidence
    plan: AnalysisPlan
    expected_shares: FloatArray
    sample: SamplePlan
    split: SampleSplit
    now: datetime
    is_decided: bool
    influence: Influence | None
    turns: BoolArray | None

    @classmethod
    def of(
        cls,
        data: AnalysisData,
        now: datetime,
        *,
        is_decided: bool = False,
        influence: Influence | None = None,
        turns: BoolArray | None = None,
    ) -> Self:
        """Take what checks need from the data of an analysis."""
        return cls(
            experiment=data.experiment,
            evidence=data.evidence,
            plan=data.plan,
            expected_shares=data.expected_shares,
            sample=data.sample,
            split=split_visitors(data),
            now=now,
            is_decided=is_decided,
            influence=influence,
            turns=turns,
        )


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Status and message of one check; `details` are JSON-ready facts."""

    status: CheckStatus
    message: str
    details: Mapping[str, object]
