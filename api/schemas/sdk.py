"""Answers of the SDK endpoints: results of events, and assignments."""

from typing import Any, Literal

from pydantic import BaseModel, Field

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
