"""Experiment of a DataFrame: its settings, with the variants and times that were seen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.variants import Variant
from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.frames.seen import Seen
from engine.local_days import EPOCH
from engine.vocabulary import AnalysisMethod, TrafficStrategy

_DEFAULTS = Statistics()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameExperiment:
    """Settings of an experiment in a DataFrame; `weights` are by variant, equal where they are None."""

    name: str
    control: str
    weights: Mapping[str, float] | None
    confidence_level: int
    traffic_strategy: TrafficStrategy
    analysis_method: AnalysisMethod = "frequentist"
    statistics: Statistics = _DEFAULTS
    is_running: bool = False

    def of(self, seen: Seen, goals: Mapping[str, FrameGoal]) -> Experiment:
        """Build the experiment: the control first, the other variants by name, goals as given.

        Raises InvalidEvidenceError where the control or a weight is not in the data, or the statistics name
        covariates, and InvalidDesignError for an invalid experiment.
        """
        first, last = seen.first or EPOCH, seen.last or EPOCH
        has_covariates = any(goal.covariates for goal in goals.values())
        if self.statistics.adjusts_by_attributes:
            raise InvalidEvidenceError(
                "covariates of statistics are attributes in a service; of a frame, name them with each goal"
            )
        return Experiment(
            id="frame",
            project_id="frame",
            name=self.name,
            test_key="frame",
            salt="frame",
            url="https://frame.invalid/",
            created_at=first,
            updated_at=last,
            status="running" if self.is_running else "completed",
            started_at=first,
            completed_at=None if self.is_running else last,
            analysis_method=self.analysis_method,
            confidence_level=self.confidence_level,
            traffic_strategy=self.traffic_strategy,
            variants=self._variants(seen),
            statistics=replace(self.statistics, cuped=True) if has_covariates else self.statistics,
            goals=tuple(goal.in_experiment(name, place) for place, (name, goal) in enumerate(goals.items())),
        )

    def _variants(self, seen: Seen) -> tuple[Variant, ...]:
        if self.control not in seen.variants:
            names = ", ".join(map(repr, sorted(seen.variants)[:20]))
            raise InvalidEvidenceError(f"the control {self.control!r} is none of the variants seen: {names}")
        arms = [self.control, *sorted(set(seen.variants) - {self.control})]
        if self.weights is not None and set(self.weights) != set(arms):
            raise InvalidEvidenceError(f"weights must be of the variants seen, {', '.join(map(repr, arms))}")
        return tuple(
            Variant(
                id=f"variant_{place}",
                name=arm,
                is_control=place == 0,
                weight=1.0 if self.weights is None else self.weights[arm],
            )
            for place, arm in enumerate(arms)
        )
