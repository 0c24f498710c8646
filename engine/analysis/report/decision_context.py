"""Context of the sentences on one goal, and the message they become."""

from dataclasses import dataclass
from datetime import datetime

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.sample_plan import SamplePlan
from engine.analysis.decision.experiment_decision import Decision
from engine.analysis.results.variant_result import VariantResult
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.stats.arrays import BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContext:
    """Facts that the sentences on one goal rest on.

    `decision` is the one on the experiment, which is judged by the plan `sample`. `results` are those of
    every goal, and `row` the place of `goal` among them; `variants` are those of this goal, with the one of
    the `control`, None without it. `leader` is the variant that the action is about. `alarms` are the
    messages of health checks in alarm. What only some sentences need is in `goal_facts`.
    """

    data: AnalysisData
    experiment: Experiment
    sample: SamplePlan
    decision: Decision
    results: tuple[tuple[VariantResult, ...], ...]
    row: int
    goal: Goal
    variants: tuple[VariantResult, ...]
    control: VariantResult | None
    leader: VariantResult | None
    alarms: tuple[str, ...]
    currency: str

    @property
    def challengers(self) -> tuple[VariantResult, ...]:
        """Results of the variants that are compared with the control, which need traffic or visitors."""
        return self.where(self.decision.situation.is_compared)

    @property
    def wanted(self) -> float:
        """1 where more is better, -1 where less is."""
        return float(self.data.plan.wanted[self.row, 0])

    @property
    def has_ended(self) -> bool:
        """Whether no more visitors will come."""
        return self.experiment.status in {"completed", "archived"}

    @property
    def judged_at(self) -> datetime | None:
        """The time of the recorded look at the plan; None without one, and for a segment."""
        recorded = self.sample.recorded
        return None if recorded is None or self.decision.situation.is_exploratory else recorded.taken_at

    def where(self, flags: BoolArray) -> tuple[VariantResult, ...]:
        """Take the results of the flagged variants."""
        return tuple(variant for variant, is_in in zip(self.variants, flags, strict=True) if is_in)

    def found(self, flags: BoolArray) -> tuple[VariantResult, ...]:
        """Take the results of the variants that a finding, goals by variants, flags on this goal."""
        return self.where(flags[self.row] & self.decision.situation.is_compared)

    def is_gain(self, variant: VariantResult) -> bool:
        """Whether the variant is better than the control by now, however slightly."""
        return (variant.compared.absolute_difference or 0.0) * self.wanted > 0

    def is_loss(self, variant: VariantResult) -> bool:
        """Whether the variant is worse than the control by now, however slightly."""
        return (variant.compared.absolute_difference or 0.0) * self.wanted < 0


@dataclass(frozen=True, slots=True)
class Message:
    """Sentences of a recommendation."""

    headline: str
    explanation: str
    next_step: str
