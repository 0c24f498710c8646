"""What the sentences about a goal speak of, and what they consist of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.analysis.results.report import Tone, VariantResult
from engine.design.experiment import Experiment, Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContext:
    """Everything that the sentences about one goal speak of.

    `lead` is the winner or the best challenger; `threshold` the score from which a comparison is decided;
    `days` those from the first to the last with a visitor, 0 if they are not known; `alarms` say why the
    data can't be trusted. `broken` are the guardrails that variants break, by variant id; `days_left` those
    until the sample is reached, None if that can't be said. `wins_at_any_look` where the lead's win holds
    however often one looked, `is_discovery` where it holds among all secondary goals.
    """

    experiment: Experiment
    goal: Goal
    variants: tuple[VariantResult, ...]
    lead: VariantResult | None
    threshold: float
    alarms: tuple[str, ...]
    days: int
    currency: str
    broken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    days_left: int | None = None
    wins_at_any_look: bool = False
    is_discovery: bool = True

    @property
    def control(self) -> VariantResult | None:
        """What the others are compared with."""
        return next((variant for variant in self.variants if variant.is_control), None)

    @property
    def challengers(self) -> tuple[VariantResult, ...]:
        """Every variant but the control."""
        return tuple(variant for variant in self.variants if not variant.is_control)

    @property
    def is_too_early(self) -> bool:
        """Whether p values of one look are looked at before the planned sample is there."""
        planned = self.experiment.statistics.planned_sample
        seen = sum(variant.visitors for variant in self.variants)
        looks_once = self.experiment.analysis_method == "frequentist"
        return looks_once and planned is not None and seen < planned and not self.has_ended

    @property
    def has_ended(self) -> bool:
        """No more visitors will come."""
        return self.experiment.status in {"completed", "archived"}


@dataclass(frozen=True, slots=True)
class Message:
    """A recommendation in words."""

    label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str


def both_arms(facts: DecisionContext) -> tuple[VariantResult, VariantResult]:
    """The lead and the control, of a goal that has both."""
    if facts.lead is None or facts.control is None:
        raise ValueError(f"a verdict on '{facts.goal.name}' needs a control and a variant to compare")
    return facts.lead, facts.control
