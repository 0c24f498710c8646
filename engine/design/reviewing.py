"""Reviews asked for, approved, withdrawn and required: a yes holds for what was asked for, unchanged."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

import msgspec

from engine.design.conclusion import ShipRequest
from engine.design.experiment import Experiment
from engine.design.lifecycle import UNSTARTED, lacks_to_start
from engine.design.review import (
    MOST_REVIEWS,
    ActingMember,
    Review,
    ReviewAnswer,
    ReviewFacts,
    ReviewRequest,
)
from engine.design.rollout_conflicts import Beside
from engine.design.shipping import require_decidable, require_shippable
from engine.errors import Problem, TransitionError
from engine.vocabulary import ReviewPurpose, ReviewState, Status

# Fields that steps of the life change, and no person: a yes to a start holds for a ramp's later steps, too.
OF_ITS_LIFE: Final = (
    *("reviews", "updated_at", "status", "started_at", "completed_at", "conclusion", "rollout"),
    *("ramp_steps", "weight_epochs", "pauses", "group_slots"),
)
# Statuses in which a start is reviewed; a paused experiment is to be resumed.
STARTABLE: Final[tuple[Status, ...]] = (*UNSTARTED, "paused")
# What is said of a review that is asked for, or missing, by its purpose.
_TO_DO: Final[Mapping[ReviewPurpose, str]] = {"start": "start", "ship": "be shipped"}
_REQUIRED: Final[Mapping[ReviewPurpose, str]] = {
    "start": "start_requirements_not_met",
    "ship": "review_required",
}
# Why there is no yes, by the state of the review.
_CHANGED: Final = "has changed since the review was asked for: ask for another one"
_LACKING: Final[Mapping[ReviewState, str]] = {
    "withdrawn": "{review.withdrawn_by_name} withdrew the review: ask for another one",
    "waiting": "waits for the yes of a member other than {review.asked_by_name}",
    "changed": _CHANGED,
    "closed": _CHANGED,
}
_OTHER: Final = "variant_id, rollout or accept_risks differ from what was approved: ask for another review"
_EMPTY: Final[tuple[object, ...]] = (None, False, [])
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def digest_of(experiment: Experiment) -> str:
    """Return the SHA-256 of all that a yes is about: every field but those of the experiment's life."""
    document = msgspec.json.decode(msgspec.json.encode(experiment))
    if experiment.ramp is not None:
        del document["traffic_allocation"]
    if experiment.weight_epochs:
        document["variants"] = [{**one, "weight": None} for one in document["variants"]]
    # A field that a later version adds with an empty default is no change.
    told = {key: value for key, value in document.items() if key not in OF_ITS_LIFE and value not in _EMPTY}
    return hashlib.sha256(_encode(told)).hexdigest()


def current_review(experiment: Experiment, purpose: ReviewPurpose) -> Review | None:
    """Return the last review of a purpose; those before it count for nothing."""
    return next((one for one in reversed(experiment.reviews) if one.purpose == purpose), None)


def state_of(experiment: Experiment, review: Review) -> ReviewState:
    """Return the state of one of an experiment's reviews; one that can be answered no more is closed."""
    if review is not current_review(experiment, review.purpose):
        return "closed"
    if review.withdrawn_at is not None:
        return "withdrawn"
    if not _is_open_to(experiment, review.purpose):
        return "approved" if review.approved_at is not None else "closed"
    if review.digest != digest_of(experiment):
        return "changed"
    return "approved" if review.approved_at is not None else "waiting"


def waiting_review(experiment: Experiment) -> Review | None:
    """Return the review that waits for a yes; None without one."""
    found = (current_review(experiment, purpose) for purpose in _TO_DO)
    return next((one for one in found if one is not None and state_of(experiment, one) == "waiting"), None)


def ask_for_review(
    experiment: Experiment, request: ReviewRequest, facts: ReviewFacts, *, by: ActingMember, now: datetime
) -> Experiment:
    """Ask for a second member's yes to the experiment as it is now.

    Raises TransitionError as the step itself would, and InvalidDesignError for what cannot be shipped.
    """
    _require_open(experiment, request.purpose)
    if request.purpose == "ship":
        require_decidable(experiment)
        require_shippable(experiment, request.variant_id)
    elif experiment.status in UNSTARTED and (problems := lacks_to_start(experiment, now)):
        message = f"'{experiment.name}' is not ready to start"
        raise TransitionError("start_requirements_not_met", message, problems)
    review = Review(
        **{name: getattr(request, name) for name in request.__slots__},
        digest=digest_of(experiment),
        # What has started was reviewed then.
        changed_by=facts.changed_by if request.purpose == "start" else None,
        asked_at=now,
        asked_by=by.id,
        asked_by_name=by.name,
    )
    kept = experiment.reviews[-(MOST_REVIEWS - 1) :]
    return replace(experiment, reviews=(*kept, review), updated_at=now)


def approve(experiment: Experiment, answer: ReviewAnswer, *, by: ActingMember, now: datetime) -> Experiment:
    """Say yes to a review that waits. Raises TransitionError `not_reviewable` with the reason."""
    review = _answerable(experiment, answer.purpose, ("waiting",))
    if by.id == review.asked_by:
        raise _refused(experiment, f"{by.name} asked for the review; another member has to approve")
    if by.id == review.changed_by:
        raise _refused(experiment, f"{by.name} made the last change; another member has to approve")
    approved = replace(
        review, approved_at=now, approved_by=by.id, approved_by_name=by.name, answer=answer.note
    )
    return _with_review(experiment, approved, now)


def withdraw(experiment: Experiment, answer: ReviewAnswer, *, by: ActingMember, now: datetime) -> Experiment:
    """Take back what was asked for, or a yes. Raises TransitionError `not_reviewable` with the reason."""
    review = _answerable(experiment, answer.purpose, ("waiting", "approved", "changed"))
    _require_open(experiment, answer.purpose)
    withdrawn = replace(
        review,
        withdrawn_at=now,
        withdrawn_by=by.id,
        withdrawn_by_name=by.name,
        answer=answer.note or review.answer,
    )
    return _with_review(experiment, withdrawn, now)


def lacks_yes(
    experiment: Experiment, purpose: ReviewPurpose, facts: ReviewFacts, request: ShipRequest | None = None
) -> str | None:
    """Return why a step may not be taken yet, as a second member has not approved; None where it may."""
    if not facts.is_required:
        return None
    review = current_review(experiment, purpose)
    if review is None:
        return "a second member has to approve: ask for a review"
    state = state_of(experiment, review)
    if state in _LACKING:
        return _LACKING[state].format(review=review)
    if review.approved_by not in facts.member_ids:
        return f"{review.approved_by_name}, who approved, is no member any more: ask for another review"
    return None if request is None or _is_as_approved(review, request) else _OTHER


def require_yes(
    experiment: Experiment, purpose: ReviewPurpose, facts: ReviewFacts, request: ShipRequest | None = None
) -> None:
    """Raise TransitionError `start_requirements_not_met` or `review_required` where a yes is lacking."""
    if reason := lacks_yes(experiment, purpose, facts, request):
        message = f"'{experiment.name}' cannot {_TO_DO[purpose]} yet: a review is required"
        raise TransitionError(_REQUIRED[purpose], message, [Problem("review", reason)])


def reviewed(
    step: Callable[[Experiment, Beside], Experiment],
    purpose: ReviewPurpose,
    request: ShipRequest | None = None,
) -> Callable[[Experiment, Beside], Experiment]:
    """Wrap a step so that it requires a yes, after all else that it requires."""

    def step_if_approved(experiment: Experiment, beside: Beside) -> Experiment:
        changed = step(experiment, beside)
        require_yes(experiment, purpose, beside.review, request)
        return changed

    return step_if_approved


def _is_as_approved(review: Review, request: ShipRequest) -> bool:
    approved = (review.variant_id, review.rollout, {*review.accept_risks})
    return approved == (request.variant_id, request.rollout, {*request.accept_risks})


def _is_open_to(experiment: Experiment, purpose: ReviewPurpose) -> bool:
    if purpose == "start":
        return experiment.status in STARTABLE
    return experiment.conclusion is None


def _require_open(experiment: Experiment, purpose: ReviewPurpose) -> None:
    if not _is_open_to(experiment, purpose):
        status = experiment.status if purpose == "start" else "decided about"
        raise TransitionError(
            "invalid_transition", f"'{experiment.name}' is {status}: there is nothing to review"
        )


def _answerable(experiment: Experiment, purpose: ReviewPurpose, states: tuple[ReviewState, ...]) -> Review:
    review = current_review(experiment, purpose)
    if review is None:
        raise _refused(experiment, "nobody has asked for this review")
    state = state_of(experiment, review)
    if state == "changed" and "changed" not in states:
        raise _refused(experiment, "it has changed since the review was asked for: ask for another one")
    if state not in states:
        raise _refused(experiment, f"the review is {state}")
    return review


def _refused(experiment: Experiment, reason: str) -> TransitionError:
    message = f"the review of '{experiment.name}' cannot be answered so"
    return TransitionError("not_reviewable", message, [Problem("review", reason)])


def _with_review(experiment: Experiment, answered: Review, now: datetime) -> Experiment:
    before = current_review(experiment, answered.purpose)
    reviews = tuple(answered if one is before else one for one in experiment.reviews)
    return replace(experiment, reviews=reviews, updated_at=now)
