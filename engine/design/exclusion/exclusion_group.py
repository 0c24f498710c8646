"""Exclusion group of a project: a name, and what its visitors are hashed by."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from engine.design.variants import Name
from engine.errors import InvalidDesignError
from engine.validation.parsing import fields_of, unknown_fields
from engine.validation.record_fields import ASSIGNED, INTERNAL, assigned, writable
from engine.validation.records import Record, RecordRule, problems_in, validate
from engine.validation.values import moment, text, whole

_WHAT = "a group"
# Answers carry these besides the fields of the record.
_ANSWERED = ("free_percent", "free_slots", "experiments")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusionGroup:
    """A group of experiments that share no visitor; its `salt` never changes."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Annotated[str, text(64), ASSIGNED]
    project_id: Annotated[str, text(64), ASSIGNED]
    name: Name
    salt: Annotated[str, text(255), INTERNAL]
    bucketing_version: Annotated[int, whole(1, 10**6), INTERNAL] = 1
    created_at: Annotated[datetime, moment, ASSIGNED]
    updated_at: Annotated[datetime, moment, ASSIGNED]

    def __post_init__(self) -> None:
        validate(self)


def draft_group(
    fields: Mapping[str, Any],
    *,
    id: str,  # noqa: A002  # the field it becomes
    project_id: str,
    now: datetime,
) -> ExclusionGroup:
    """Build a group from JSON-like input; InvalidDesignError with every problem."""
    return _built({"id": id, "project_id": project_id, "salt": id, "created_at": now}, fields, now)


def rename_group(group: ExclusionGroup, fields: Mapping[str, Any], *, now: datetime) -> ExclusionGroup:
    """Give a group another name; InvalidDesignError with every problem."""
    return _built(asdict(group), fields, now)


def _built(current: Record, fields: Mapping[str, Any], now: datetime) -> ExclusionGroup:
    given = fields_of(fields, _WHAT)
    known = writable(ExclusionGroup)
    record = {**current, **{name: given[name] for name in known if name in given}, "updated_at": now}
    problems = unknown_fields(given, known, (*assigned(ExclusionGroup), *_ANSWERED), _WHAT)
    if problems := [*problems, *problems_in(record, ExclusionGroup)]:
        raise InvalidDesignError(problems)
    return ExclusionGroup(**record)
