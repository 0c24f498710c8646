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
    secondary goals. `is_too_early` where a test with a single look is looked at before its planned sample,
    `has_ended` where no more visitors will come.
    """

    experiment: Experiment
    goal: Goal
    variants: tuple[VariantResult, ...]
    leader: VariantResult | None
    control: VariantResult | None
    challengers: tuple[VariantResult, ...]
    threshold: float
    alarms: tuple[str, ...]
    days: int
    currency: str
    broken_guardrails: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    days_left: int | None = None
    wins_at_any_look: bool = False
    is_discovery: bool = True
    is_too_early: bool = False
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """Sentences of a recommendation."""

    label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str
