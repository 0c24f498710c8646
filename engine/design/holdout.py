"""Holdouts: a percent of new visitors who see no test and no rollout, of a project or of an exclusion group.

A holdout is an experiment of two variants that changes no page: `Held out` is its control. It takes part in
counting, results, erasure and backups as any experiment; lists of tests leave it out. Its variants decide by
their hashes who is held out; visitors who were seen before it began are in neither variant.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, cast

from engine.design.assignment import Exclusion, bucket_variant
from engine.design.drafting import draft_experiment
from engine.design.exclusion.group_slots import GroupShare
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN, complete, start
from engine.design.metrics.metric_goals import Metrics
from engine.design.project import Project
from engine.design.variants import Variant
from engine.errors import InvalidDesignError, Problem, TransitionError
from engine.validation.check import Check
from engine.validation.parsing import NewId, fields_of, read_moment, unknown_fields
from engine.validation.record_fields import input_checks
from engine.validation.values import at, moment, optional, text, whole
from engine.vocabulary import Status

LARGEST_PERCENT: Final = 10
ACTIVE: Final[tuple[Status, ...]] = ("scheduled", *OPEN)
HELD_OUT: Final = "Held out"
ALL_OTHERS: Final = "All others"
# In place of a variant: the visitor, or another one of its user, was seen before the holdout began.
SEEN_BEFORE: Final = "seen_before"
HELD: Final = Exclusion("held_out", "the visitor is held out from all tests and rollouts")
HELD_FROM_GROUP: Final = Exclusion(
    "held_out", "the visitor is held out from all tests and rollouts of the group"
)
SEEN: Final = Exclusion("seen_before", "the visitor was seen before the holdout began")
OTHER_VARIANT: Final = Exclusion("other_variant", "the visitor is in the other variant of the holdout")

_percent: Final = whole(1, LARGEST_PERCENT).described("Percent of new visitors who are held out.", example=5)
_name: Final = text(255).described("Name of the holdout.", example="Spring")
_time: Final = optional(moment)
# Of what callers send.
FIELDS: Final[Mapping[str, Check]] = {
    "name": _name,
    "percent": _percent,
    "from": _time.described(
        "When it begins; by default at once. Visitors who were seen before are in neither variant.",
        example="2027-01-01T00:00:00Z",
    ),
    "to": _time.described(
        "When it ends by itself; by default never. A time that has passed ends it at once."
    ),
    "group_id": optional(text(64)).described(
        "Id of an exclusion group, to hold visitors out of its tests and rollouts alone; by default of all.",
        example="grp_q7xm2c5tzhn6d4wrpk3v",
    ),
    "goals": input_checks(Experiment)["goals"].described("Goals to compare by, as those of an experiment."),
}
REQUIRED: Final = ("name", "percent", "goals")
# Fields of a holdout by those of its experiment.
_NAMES: Final = {"scheduled_start_at": "from", "scheduled_end_at": "to"}
REVISABLE: Final = ("name", "to")
_ASSIGNED: Final = ("id", "project_id", "status", "created_at", "updated_at")


@dataclass(frozen=True, slots=True)
class HoldoutPlace:
    """The place of a visitor in a holdout: a variant, or None for a visitor seen before it began.

    `is_known` where it is that of an earlier event, of the visitor or of another one of its user.
    """

    holdout: Experiment
    variant: Variant | None
    is_known: bool

    @property
    def is_held(self) -> bool:
        """Whether the visitor sees no test and no rollout that the holdout covers."""
        return self.variant is not None and self.variant.is_control

    def exclusion_from(self, group: GroupShare | None) -> Exclusion | None:
        """Return why the visitor sees no test and no rollout of a group; None where the holdout allows it."""
        if not (self.is_held and covers(self.holdout, group)):
            return None
        return HELD if self.holdout.held_group_id is None else HELD_FROM_GROUP


def draft_holdout(  # noqa: PLR0913  # every keyword is a fact that only the caller has
    fields: Mapping[str, Any],
    *,
    id: str,  # noqa: A002  # the field it becomes
    project: Project,
    now: datetime,
    new_id: NewId,
    metrics: Metrics = MappingProxyType({}),
) -> Experiment:
    """Build a holdout from JSON-like input, and start or schedule it; InvalidDesignError with every problem.

    `metrics` are those of the project, by id. It begins `now` without a `from`.
    """
    given = fields_of(fields, "a holdout")
    problems = [
        *unknown_fields(given, tuple(FIELDS), _ASSIGNED, "a holdout"),
        *at("name", _name(given.get("name"))),
        *at("percent", _percent(given.get("percent"))),
        *_time_problems(given, now),
        *at("group_id", FIELDS["group_id"](given.get("group_id"))),
        *([] if given.get("goals") else [Problem("goals", "needs at least one goal to compare by")]),
    ]
    if problems:
        raise InvalidDesignError(problems)
    percent = given["percent"]
    variants = [
        {"name": HELD_OUT, "weight": percent, "is_control": True},
        {"name": ALL_OTHERS, "weight": 100 - percent, "is_control": False},
    ]
    draft = {
        "name": given["name"],
        "goals": given["goals"],
        "variants": variants,
        "scheduled_start_at": given.get("from"),
        "scheduled_end_at": given.get("to"),
    }
    key = id.replace("_", "-")
    try:
        drafted = draft_experiment(
            draft, id=id, project=project, now=now, new_id=new_id, test_key=key, metrics=metrics
        )
        held = replace(drafted, is_holdout=True, held_group_id=given.get("group_id"))
        return start(held, now=now)
    except (InvalidDesignError, TransitionError) as error:
        raise InvalidDesignError(_renamed(error)) from None


def revise_holdout(holdout: Experiment, fields: Mapping[str, Any], *, now: datetime) -> Experiment:
    """Change the name or the end that is given; an end that is not after `now` ends it at once.

    Raises InvalidDesignError with every problem, or TransitionError `invalid_transition` for the end of a
    holdout that has ended, or that has not begun.
    """
    given = fields_of(fields, "a holdout")
    problems = [
        *unknown_fields(given, REVISABLE, (*_ASSIGNED, *FIELDS), "a holdout"),
        *(at("name", _name(given["name"])) if "name" in given else ()),
        *at("to", _time(read_moment(given.get("to")))),
        *(
            Problem(name, "cannot change once the holdout is made; end it, and make another")
            for name in FIELDS
            if name in given and name not in REVISABLE
        ),
    ]
    if problems:
        raise InvalidDesignError(problems)
    named = replace(holdout, name=given.get("name", holdout.name), updated_at=now)
    if "to" not in given:
        return named
    if holdout.status not in ACTIVE:
        raise TransitionError("invalid_transition", f"'{holdout.name}' has ended")
    end = _moment(given, "to")
    if end is None or end > max(now, holdout.scheduled_start_at or now):
        return replace(named, scheduled_end_at=end)
    if holdout.status == "scheduled":
        message = f"'{holdout.name}' has not begun; its end must lie after its start, or delete it"
        raise TransitionError("invalid_transition", message)
    return complete(named, now=now)


def deletable_holdout(holdout: Experiment) -> Experiment:
    """Return a holdout that holds nobody out, which may be deleted; TransitionError `invalid_transition`."""
    if holdout.status in OPEN:
        raise TransitionError("invalid_transition", f"'{holdout.name}' is in force; end it first")
    return holdout


def place_in(holdout: Experiment, visitor_id: str, known: str | None) -> HoldoutPlace:
    """Find the place of a visitor in a running holdout.

    `known` is the variant id of the earliest event of the visitor or of its user's, SEEN_BEFORE where that
    came before the holdout began, and None for a visitor without events.
    """
    if known is not None:
        variant = next((one for one in holdout.variants if one.id == known), None)
        return HoldoutPlace(holdout, variant, is_known=True)
    index = bucket_variant(holdout, visitor_id)
    return HoldoutPlace(holdout, None if index is None else holdout.variants[index], is_known=False)


def covers(holdout: Experiment, group: GroupShare | None) -> bool:
    """Return whether a holdout is of the tests and rollouts with this `group`, or of the whole project."""
    return holdout.held_group_id in {None, None if group is None else group.id}


def exclusion_by_places(places: Iterable[HoldoutPlace], group: GroupShare | None) -> Exclusion | None:
    """Return why a visitor with these places sees no test and no rollout of a group; None if allowed."""
    return next((found for place in places if (found := place.exclusion_from(group))), None)


def percent_of(holdout: Experiment) -> int:
    """Return the percent of new visitors who are held out."""
    return round(next(one.weight for one in holdout.variants if one.is_control))


def _time_problems(given: Mapping[str, Any], now: datetime) -> Iterator[Problem]:
    wrong = [one for name in ("from", "to") for one in at(name, _time(read_moment(given.get(name))))]
    yield from wrong
    if wrong:
        return
    start_at, end_at = _moment(given, "from"), _moment(given, "to")
    # Visitors who came in between may have seen tests.
    if start_at is not None and start_at <= now:
        yield Problem("from", "has passed; leave it out to begin now")
    if end_at is not None and end_at <= max(now, start_at or now):
        yield Problem("to", "must lie after the start")


def _moment(given: Mapping[str, Any], name: str) -> datetime | None:
    """Return a time that was checked."""
    return cast("datetime | None", read_moment(given.get(name)))


def _renamed(error: InvalidDesignError | TransitionError) -> list[Problem]:
    return [Problem(_NAMES.get(one.field, one.field), one.message) for one in error.problems] or [
        Problem("goals", str(error))
    ]
