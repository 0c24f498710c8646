"""Events and visits as senders write them, and their answers; described here, read by the pipeline."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from pipeline.assignment.decide import VariantDecision
from pipeline.events.rejections import CODES


class EventResult(BaseModel):
    """What became of one event."""

    event_id: str | None
    status: Literal["ok", "rejected"]
    code: str | None = Field(description=f"Why it was rejected: {', '.join(f'`{code}`' for code in CODES)}.")
    message: str | None


class EventResults(BaseModel):
    """One result an event, in the order they were sent. What is `ok` is on disk."""

    accepted: int
    rejected: int
    results: list[EventResult]


class ShownChange(BaseModel):
    """One edit of the page."""

    id: str
    selector: str
    action: str
    value: str


class ShownExperiment(BaseModel):
    """What a visitor is shown in one experiment; null where the visitor takes no part."""

    experiment_id: str
    test_key: str
    variant_id: str | None
    variant_name: str | None
    status: Literal["new", "existing", "forced", "excluded"]
    reason: str
    changes: list[ShownChange]
    redirect_url: str | None

    @classmethod
    def of(cls, shown: VariantDecision) -> Self:
        """Describe what was decided."""
        variant = shown.variant
        return cls(
            experiment_id=shown.experiment.id,
            test_key=shown.experiment.test_key,
            variant_id=variant.id if variant else None,
            variant_name=variant.name if variant else None,
            status=shown.status,
            reason=shown.reason,
            changes=[ShownChange(**asdict(change)) for change in variant.changes] if variant else [],
            redirect_url=shown.redirect_url,
        )


class ShownGoal(BaseModel):
    """What to watch for."""

    id: str
    experiment_id: str
    name: str
    goal_type: str
    is_primary: bool
    config: dict[str, Any]


class VisitAnswer(BaseModel):
    """The variants of a visitor. Nobody is counted before an exposure is tracked."""

    visitor_id: str
    assignments: list[ShownExperiment]
    goals: list[ShownGoal]

    @classmethod
    def of(cls, visitor_id: str, shown: Sequence[VariantDecision]) -> Self:
        """Describe what was decided for a visitor."""
        return cls(
            visitor_id=visitor_id,
            assignments=[ShownExperiment.of(one) for one in shown],
            goals=[
                ShownGoal(experiment_id=one.experiment.id, **asdict(goal))
                for one in shown
                for goal in one.experiment.goals
            ],
        )
