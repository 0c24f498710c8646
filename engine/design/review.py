"""Review of an experiment: a member asks, and a second one approves of exactly what was asked for."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, ClassVar, Final

from engine.design.conclusion import LONGEST_NOTE
from engine.errors import Problem
from engine.validation.records import Record, RecordRule, validate
from engine.validation.values import choice, flag, list_of, moment, optional, text
from engine.vocabulary import ReviewPurpose, words

# The audit trail has all of them.
MOST_REVIEWS: Final = 100
_Purpose = choice(words(ReviewPurpose)).described(
    "`start`: of a draft with its ramp, or a resume; `ship`: of a variant."
)
_Note = optional(text(LONGEST_NOTE, lines=True))
_MemberId = optional(text(64))
_MemberName = optional(text(255, least=0))
_Risks = list_of(text(64), at_most=100)


def _variant_fits_purpose(request: Record) -> Iterator[Problem]:
    purpose, has_variant = request.get("purpose"), request.get("variant_id") is not None
    if purpose == "ship" and not has_variant:
        yield Problem("variant_id", "is required to ship: say which variant")
    elif purpose == "start" and has_variant:
        yield Problem("variant_id", "is only taken to ship; leave it out")
    if purpose == "start" and request.get("accept_risks"):
        yield Problem("accept_risks", "are only taken to ship; leave them out")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """A review as it is asked for: a start, or a decision to ship as `ship` takes it."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_variant_fits_purpose,)

    purpose: Annotated[ReviewPurpose, _Purpose]
    variant_id: Annotated[str | None, optional(text(64)).described("The variant to ship.")] = None
    accept_risks: Annotated[
        tuple[str, ...], _Risks.described("To ship: as `ship` is to take them.", example=[])
    ] = ()
    rollout: Annotated[bool, flag.described("To ship: as `ship` is to take it.")] = True
    note: Annotated[
        str | None, _Note.described("For the reviewer.", example="Checked in both languages.")
    ] = None

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAnswer:
    """A yes to a review, or its withdrawal."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    purpose: Annotated[ReviewPurpose, _Purpose]
    note: Annotated[str | None, _Note.described("Kept with the review.", example="Goals checked.")] = None

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A review that was asked for; `digest` is that of the experiment then.

    `changed_by` is the member of the last change before it was asked for, where that is known. Members stand
    by id, with the names that they had then.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    purpose: Annotated[ReviewPurpose, _Purpose]
    variant_id: Annotated[str | None, optional(text(64))] = None
    accept_risks: Annotated[tuple[str, ...], _Risks] = ()
    rollout: Annotated[bool, flag] = True
    note: Annotated[str | None, _Note] = None
    digest: Annotated[str, text(64)]
    changed_by: Annotated[str | None, _MemberId] = None
    asked_at: Annotated[datetime, moment.described("Time of the request, in UTC.")]
    asked_by: Annotated[str, text(64)]
    asked_by_name: Annotated[str, text(255, least=0)]
    approved_at: Annotated[datetime | None, optional(moment)] = None
    approved_by: Annotated[str | None, _MemberId] = None
    approved_by_name: Annotated[str | None, _MemberName] = None
    withdrawn_at: Annotated[datetime | None, optional(moment)] = None
    withdrawn_by: Annotated[str | None, _MemberId] = None
    withdrawn_by_name: Annotated[str | None, _MemberName] = None
    answer: Annotated[str | None, _Note] = None

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True)
class ActingMember:
    """A member who asks, approves or withdraws, by id and name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    """What a project says of reviews: whether they are required, and the ids of its account's members.

    `changed_by` is the member who last changed the experiment, where that is known.
    """

    is_required: bool
    member_ids: Collection[str] = field(default_factory=frozenset)
    changed_by: str | None = None


NO_REVIEW: Final = ReviewFacts(is_required=False)
