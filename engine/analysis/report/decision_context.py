"""Context of a decision on one goal, and the message it becomes."""

from dataclasses import dataclass

from engine.analysis.comparison.sample_plan import SamplePlan
from engine.analysis.decision.experiment_decision import Decision
from engine.analysis.results.report import Tone, VariantResult
from engine.design.experiment import Experiment, Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContext:
    """Facts that the sentences on one goal rest on.

    `decision` is the one on the experiment, `row` the goal's place in it. `leader` is, on the primary goal,
    the variant that the action is about; on the others the winner or the best challenger. `threshold` is the
    score from which a comparison is decided; `days` those from the first to the last with a visitor, 0 if
    they are not known; `alarms` are the messages of health checks in alarm.
    """

    experiment: Experiment
    goal: Goal
    decision: Decision
    row: int
    sample: SamplePlan
    variants: tuple[VariantResult, ...]
    leader: VariantResult | None
    control: VariantResult | None
    challengers: tuple[VariantResult, ...]
    threshold: float
    alarms: tuple[str, ...]
    days: int
    currency: str

    @property
    def has_ended(self) -> bool:
        """Whether no more visitors will come."""
        return self.experiment.status in {"completed", "archived"}

    @property
    def days_left(self) -> int | None:
        """Days until the plan is reached; None where that is not known."""
        return self.sample.days_left

    def harmed_goals(self, variant: VariantResult) -> tuple[str, ...]:
        """Name the guardrails that a variant breaks, or else the other goals that it harms."""
        column = self.variants.index(variant)
        findings, goals = self.decision.findings, self.experiment.goals
        broken = tuple(goal.name for row, goal in enumerate(goals) if findings.broken[row, column])
        harmed = tuple(
            goal.name for row, goal in enumerate(goals) if findings.loses[row, column] and not goal.is_primary
        )
        return broken or harmed


@dataclass(frozen=True, slots=True)
class Message:
    """Sentences of a recommendation."""

    label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str
