"""Conclusion of an experiment: what was decided, by whom and why, and the rollout that follows from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from engine.errors import Problem
from engine.validation.records import Record, RecordRule, records_of, validate
from engine.validation.values import choice, flag, list_of, moment, optional, text
from engine.vocabulary import ConclusionDecision, words

LONGEST_NOTE = 5_000
# Every health check, and every goal.
_MOST_RISKS = 100
_Note = text(LONGEST_NOTE, lines=True)
_RiskName = text(64)
_Decision = choice(words(ConclusionDecision)).described(
    "`ship` a variant, `keep_control`, or `inconclusive`: neither was shown to be better."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRisk:
    """A risk of shipping: a health check that alarms, by name, or a broken guardrail, by its goal's id."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    risk: Annotated[str, _RiskName]
    message: Annotated[str, text(LONGEST_NOTE, least=0, lines=True)]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What was decided about an experiment; `decided_by` is the id of a member, who had that name then."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    decision: Annotated[ConclusionDecision, _Decision]
    variant_id: Annotated[str | None, optional(text(64))] = None
    note: Annotated[str, _Note]
    accepted_risks: Annotated[
        tuple[OpenRisk, ...], records_of(OpenRisk, at_most=_MOST_RISKS, name="risk")
    ] = ()
    decided_at: Annotated[datetime, moment]
    decided_by: Annotated[str, text(64)]
    decided_by_name: Annotated[str, text(255, least=0)]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A shipped variant that everybody eligible gets, until `ended_at`; None while it lasts."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Annotated[str, text(64)]
    variant_id: Annotated[str, text(64)]
    started_at: Annotated[datetime, moment]
    ended_at: Annotated[datetime | None, optional(moment)] = None

    def __post_init__(self) -> None:
        validate(self)


def _variant_fits_decision(request: Record) -> Iterator[Problem]:
    decision = request.get("decision")
    has_variant = request.get("variant_id") is not None
    if decision == "ship" and not has_variant:
        yield Problem("variant_id", "is required to ship: say which variant")
    elif decision not in {"ship", None} and has_variant:
        yield Problem("variant_id", f"is only taken to ship, not with {decision}; leave it out")
    if decision not in {"ship", None} and request.get("accept_risks"):
        yield Problem("accept_risks", f"are only taken to ship, not with {decision}; leave them out")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipRequest:
    """A decision about an experiment, as it is asked for."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_variant_fits_decision,)

    decision: Annotated[ConclusionDecision, _Decision]
    variant_id: Annotated[
        str | None,
        optional(text(64)).described("The variant to ship, which is not the control."),
    ] = None
    note: Annotated[
        str,
        _Note.described(
            "Why, for whoever asks in a year.", example="Fewer steps, more orders on every device."
        ),
    ]
    accept_risks: Annotated[
        tuple[str, ...],
        list_of(_RiskName, at_most=_MOST_RISKS).described(
            "To ship all the same: names of health checks that alarm, goal ids of broken guardrails.",
            example=[],
        ),
    ] = ()
    rollout: Annotated[
        bool,
        flag.described("Whether everybody is shown the variant; false where your own code has it."),
    ] = True

    def __post_init__(self) -> None:
        validate(self)
