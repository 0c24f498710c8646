"""Events and visits as senders write them, and their answers; described here, read by the pipeline."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from pipeline.assignment.decide import VariantDecision
from pipeline.events.rejections import CODES

Timestamp = str | float
PROJECT = "Required with a bearer key, here or in the query."
WHEN = "ISO 8601, or milliseconds since 1970; the moment of receipt if absent."


class TrackedEvent(BaseModel):
    """One thing a visitor did or saw."""

    event_id: str = Field(description="Yours; the same one again counts once.")
    type: Literal["exposure", "pageview", "click", "custom_event", "ga4_event", "identify"]
    visitor_id: str
    user_id: str | None = Field(None, description="Required for identify.")
    timestamp: Timestamp | None = Field(None, description=WHEN)
    experiment_id: str | None = Field(None, description="Required for exposure, as is variant_id.")
    variant_id: str | None = None
    url: str | None = Field(None, description="Required for pageview.")
    selector: str | None = Field(None, description="Required for click.")
    event_name: str | None = Field(None, description="Required for custom_event and ga4_event.")
    value: float | None = None
    attributes: dict[str, Any] | None = Field(
        None, description="Segments such as country or device_type; every other key is a custom dimension."
    )


class TrackBatch(BaseModel):
    """Events of one project."""

    batch: list[TrackedEvent] = Field(max_length=500)
    sent_at: Timestamp | None = Field(None, description="When this was sent: corrects a wrong clock.")
    project_id: str | None = Field(None, description=PROJECT)


class Conversion(BaseModel):
    """A goal reached, an order, or its refund."""

    event_id: str = Field(description="Yours; the same one again counts once.")
    visitor_id: str | None = Field(None, description="This or user_id is required.")
    user_id: str | None = None
    goal_id: str | None = Field(None, description="This or event_name is required.")
    event_name: str | None = None
    revenue_cents: int | None = Field(None, ge=0, le=10**12, description="Required for a refund.")
    currency: str | None = Field(None, description="ISO 4217; the project's if absent.")
    transaction_id: str | None = Field(None, description="An order counts once for a goal.")
    kind: Literal["conversion", "refund"] = "conversion"
    timestamp: Timestamp | None = Field(None, description=WHEN)
    attributes: dict[str, Any] | None = None


class ConversionBatch(BaseModel):
    """Conversions of one project; one alone may be sent without `batch` around it."""

    batch: list[Conversion] = Field(max_length=500)
    sent_at: Timestamp | None = Field(None, description="When this was sent: corrects a wrong clock.")
    project_id: str | None = Field(None, description=PROJECT)


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


class Visit(BaseModel):
    """Somebody on a page."""

    visitor_id: str | None = Field(None, description="A new one is made if absent.")
    user_id: str | None = None
    url: str | None = Field(None, description="The page; without it, pages are not looked at.")
    attributes: dict[str, Any] | None = None
    assignments: dict[str, str] | None = Field(
        None, description="Variants to force for a preview: experiment id or test key → variant id or name."
    )
    project_id: str | None = Field(None, description=PROJECT)


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
