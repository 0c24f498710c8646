"""What a health check looks at, and what it can find."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from engine.analysis.evidence.totals import Evidence
from engine.analysis.results.report import CheckStatus
from engine.design.experiment import Experiment

# A split this unlikely under the configured weights is a fault, not chance.
SAMPLE_RATIO_ALARM = 0.001
# The chi-square approximation needs this many expected visitors in every arm.
MIN_EXPECTED = 5


@dataclass(frozen=True, slots=True)
class CheckInput:
    """What a check looks at."""

    experiment: Experiment
    evidence: Evidence
    now: datetime


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found; `details` are JSON-ready facts."""

    status: CheckStatus
    message: str
    details: Mapping[str, object]
