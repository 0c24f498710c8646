"""Answers of the SDK endpoints: results of events, and assignments."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from pipeline.assignment.decide import VariantDecision
from pipeline.events.rejections import CODES, NOT_COUNTED


class EventResult(BaseModel):
    """Result of an event."""

    event_id: str | None
    status: Literal["ok", "rejected"]
    code: str | None = Field(
        description=(
            f"`{NOT_COUNTED}` for an exposure that is stored but does not count (`message` says why), or the "
            f"reason of a rejection: {', '.join(f'`{code}`' for code in CODES)}."
        )
    )
    message: str | None


class EventResults(BaseModel):
    """Results of events, in the order of the request.

    An event with `ok` is stored and `accepted`, whether it counts or not.
    """

    accepted: int
    rejected: int
    results: list[EventResult]


class ShownChange(BaseModel):
    """A change of the page."""

    id: str
    selector: str
    action: str
    value: str


class ShownExperiment(BaseModel):
    """Assignment of a visitor in an experiment; without a variant where the visitor takes no part."""

    experiment_id: str
    test_key: str
    variant_id: str | None
    variant_name: str | None
    status: Literal["new", "existing", "forced", "excluded"]
    reason: str
    changes: list[ShownChange]
    redirect_url: str | None

    @classmethod
    def of(cls, decision: VariantDecision) -> Self:
        """Describe the assignment in an experiment."""
        variant = decision.variant
        return cls(
            experiment_id=decision.experiment.id,
            test_key=decision.experiment.test_key,
            variant_id=variant.id if variant else None,
            variant_name=variant.name if variant else None,
            status=decision.status,
            reason=decision.reason,
            changes=[ShownChange(**asdict(change)) for change in variant.changes] if variant else [],
            redirect_url=decision.redirect_url,
        )


class ShownGoal(BaseModel):
    """A goal to track."""

    id: str
    experiment_id: str
    name: str
    goal_type: str
    is_primary: bool
    config: dict[str, Any]


class VisitAnswer(BaseModel):
    """Assignments of a visitor, who is counted once an exposure is tracked."""

    visitor_id: str
    assignments: list[ShownExperiment]
    goals: list[ShownGoal]

    @classmethod
    def of(cls, visitor_id: str, decisions: Sequence[VariantDecision]) -> Self:
        """Describe the assignments of a visitor."""
        return cls(
            visitor_id=visitor_id,
            assignments=[ShownExperiment.of(decision) for decision in decisions],
            goals=[
                ShownGoal(experiment_id=decision.experiment.id, **asdict(goal))
                for decision in decisions
                for goal in decision.experiment.goals
            ],
        )
