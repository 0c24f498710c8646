"""What to do about a goal: on the wire."""

from pydantic import BaseModel

from api.schemas.numbers import in_percents
from engine.analysis import analyze as judged
from engine.analysis.analyze import Recommendation, Tone
from engine.design.vocabulary import GoalType


class DecisionSummary(BaseModel):
    """What to do about one goal, in words."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    recommendation: Recommendation
    recommendation_label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str
    variant_name: str | None
    control_variant_name: str | None
    estimated_uplift: float | None
    score_label: str
    score_value: float | None
    effective_confidence_threshold: float
    confidence_assessment: str
    projected_annual_revenue_impact_cents: int | None
    incremental_revenue_impact_cents: int | None
    revenue_currency: str
    visitors: int
    conversions: int
    conversion_rate: float

    @classmethod
    def of(cls, decision: judged.DecisionSummary) -> "DecisionSummary":
        """Describe a decision."""
        return cls(**in_percents(decision))


class GoalDecision(BaseModel):
    """The decision about one goal, in short."""

    goal_id: str
    recommendation: Recommendation
    headline: str

    @classmethod
    def of(cls, decision: judged.DecisionSummary) -> "GoalDecision":
        """Describe a decision in short."""
        return cls(
            goal_id=decision.goal_id, recommendation=decision.recommendation, headline=decision.headline
        )
