"""Context of a decision on one goal, and the message it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.analysis.results.report import Tone, VariantResult
from engine.design.experiment import Experiment, Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContext:
    """Facts that a decision on one goal rests on.

    `leader` is the winner or the best challenger; `threshold` the score from which a comparison is decided;
    `days` those from the first to the last with a visitor, 0 if they are not known; `alarms` are the
    messages of health checks in alarm. `broken_guardrails` are the names of the guardrails that variants
    break, by variant id; `days_left` those until the sample is reached, None if that is not known.
    `wins_at_any_look` where the leader's win holds at every look, `is_discovery` where it holds among all
    secondary goals.
    """

    experiment: Experiment
    goal: Goal
    variants: tuple[VariantResult, ...]
    leader: VariantResult | None
    threshold: float
    alarms: tuple[str, ...]
    days: int
    currency: str
    broken_guardrails: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    days_left: int | None = None
    wins_at_any_look: bool = False
    is_discovery: bool = True
    control: VariantResult | None = field(init=False)
    challengers: tuple[VariantResult, ...] = field(init=False)

    def __post_init__(self) -> None:
        control = next((variant for variant in self.variants if variant.is_control), None)
        challengers = tuple(variant for variant in self.variants if not variant.is_control)
        object.__setattr__(self, "control", control)
        object.__setattr__(self, "challengers", challengers)

    @property
    def is_too_early(self) -> bool:
        """Whether a test with a single look is looked at before its planned sample."""
        planned = self.experiment.statistics.planned_sample
        is_frequentist = self.experiment.analysis_method == "frequentist"
        if planned is None or not is_frequentist or self.has_ended:
            return False
        return sum(variant.visitors for variant in self.variants) < planned

    @property
    def has_ended(self) -> bool:
        """Whether no more visitors will come."""
        return self.experiment.status in {"completed", "archived"}


@dataclass(frozen=True, slots=True)
class Message:
    """Sentences of a recommendation."""

    label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str


def leader_and_control(context: DecisionContext) -> tuple[VariantResult, VariantResult]:
    """Return the leader and the control of a goal that has both."""
    if context.leader is None or context.control is None:
        raise ValueError(f"a verdict on '{context.goal.name}' needs a control and a variant to compare")
    return context.leader, context.control
