"""Input and result of a health check."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.power import Power
from engine.analysis.evidence.totals import Evidence
from engine.analysis.health.sample_split import SampleSplit
from engine.analysis.results.report import CheckStatus
from engine.design.experiment import Experiment

# A split this unlikely under the configured weights is a fault, not chance.
SAMPLE_RATIO_ALARM = 0.001


@dataclass(frozen=True, slots=True)
class CheckInput:
    """Input of every check: the data of the analysis, its power, the split of its visitors, and the time."""

    data: AnalysisData
    power: Power
    split: SampleSplit
    now: datetime

    @property
    def experiment(self) -> Experiment:
        """The experiment whose data are checked."""
        return self.data.experiment

    @property
    def evidence(self) -> Evidence:
        """The evidence that is checked."""
        return self.data.evidence

    @property
    def plan(self) -> AnalysisPlan:
        """The plan of the experiment's analysis."""
        return self.data.plan


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Status and message of one check; `details` are JSON-ready facts."""

    status: CheckStatus
    message: str
    details: Mapping[str, object]
