"""Checks of records, whether JSON-like mappings or built dataclasses, that find every problem at once.

A record class states what each field takes with a check in `Annotated`, and what holds between its
fields in `RULES`. The same checks run on JSON-like input before it is built and on the built object.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any

from engine.errors import InvalidDesignError, Problem
from engine.validation.check import Check, Schema, object_schema, or_null, reference
from engine.validation.record_fields import defaults, input_definitions, input_schema, record_fields
from engine.validation.values import at, shown

Record = Mapping[str, Any]
RecordRule = Callable[[Record], Iterable[Problem]]
"""Yields problems between fields; fields that are invalid by themselves are absent from its argument."""
ListRule = Callable[[Sequence[Record]], Iterable[Problem]]
"""Yields problems between the records of a list; invalid fields are absent from its argument, too."""

_REPORTED_UNKNOWN = 20
# Of one field. Checks find problems one by one, so that what follows is not looked for.
MOST_PROBLEMS = 1_000


def validate(built: object) -> None:
    """Raise InvalidDesignError with every problem of a dataclass that was just built."""
    cls: type = type(built)
    problems = problems_in(as_mapping(built), cls)
    for field in record_fields(cls):
        items = getattr(built, field.name)
        if field.item_class and not (
            isinstance(items, tuple) and all(isinstance(item, field.item_class) for item in items)
        ):
            problems.append(Problem(field.name, f"must be a tuple of {field.item_class.__name__}"))
    if problems:
        raise InvalidDesignError(problems)


def problems_in(record: Record, cls: type) -> list[Problem]:
    """List every problem of a record that is to become a `cls`, whose defaults replace absent fields."""
    problems: list[Problem] = []
    valid_fields = {**defaults(cls), **record}
    for field in record_fields(cls):
        if field.name not in record:
            field_problems = [Problem(field.name, "is required")] if field.is_required else []
        else:
            field_problems = list(islice(at(field.name, field.check(record[field.name])), MOST_PROBLEMS))
        if field_problems:
            problems += field_problems
            valid_fields.pop(field.name, None)
    for rule in cls.RULES:  # type: ignore[attr-defined]  # every record class has them, if only ()
        problems += rule(valid_fields)
    return problems


def as_mapping(record: object) -> Record:
    """Return a record as a mapping of its fields, whether it is a mapping or built already."""
    if isinstance(record, Mapping):
        return record
    cls: type = type(record)
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(cls)}


def record_of(cls: type, name: str) -> Check:
    """Check for a `cls`, built or still a mapping; `name` names it in messages."""
    known = tuple(field.name for field in dataclasses.fields(cls))

    def check(value: object) -> Iterable[Problem]:
        if isinstance(value, cls):
            # A built record was checked when it was built.
            return ()
        if not isinstance(value, Mapping):
            return (Problem("", f"must be an object, not {shown(value)}"),)
        return [*problems_in(value, cls), *unknown_keys(value, known, name)]

    definitions = {cls.__name__: input_schema(cls), **input_definitions(cls)}
    return Check(check, reference(cls.__name__), definitions)


def records_of(cls: type, *rules: ListRule, at_most: int, name: str) -> Check:
    """Check for a list of at most so many `cls`, built or still mappings, that obey `rules` together."""
    check_one = record_of(cls, f"a {name}")

    def check(value: object) -> Iterator[Problem]:
        if not isinstance(value, list | tuple):
            yield Problem("", f"must be a list, not {shown(value)}")
            return
        if len(value) > at_most:
            yield Problem("", f"holds {len(value):,} {name}s; at most {at_most:,} are possible")
            return
        valid_parts: list[Record] = []
        for index, item in enumerate(value):
            problems = list(check_one(item))
            yield from at(f"[{index}]", problems)
            valid_parts.append(_valid_part(item, cls, problems))
        for rule in rules:
            yield from rule(valid_parts)

    schema = {"type": "array", "items": check_one.schema, "maxItems": at_most}
    return Check(check, schema, check_one.definitions)


def _valid_part(item: object, cls: type, problems: Iterable[Problem]) -> Record:
    if not isinstance(item, Mapping | cls):
        return {}
    invalid = {problem.field.partition(".")[0].partition("[")[0] for problem in problems}
    whole = {**defaults(cls), **as_mapping(item)}
    return {name: value for name, value in whole.items() if name not in invalid}


def keys_of(
    checks: Mapping[str, Check],
    *,
    required: Iterable[str] = (),
    what: str,
    definition: tuple[str, str] | None = None,
) -> Check:
    """Check for an object with no keys but those of `checks`; one that is not required may be null.

    `what` names the object in messages, `definition` (a name and a description) in the schema.
    """
    needed = frozenset(required)
    check = partial(key_problems, checks, needed, what)
    definitions = {name: schema for part in checks.values() for name, schema in part.definitions.items()}
    name, description = definition or ("", "")
    schema = _schema_of_keys(checks, needed, name, description)
    if not name:
        return Check(check, schema, definitions)
    return Check(check, reference(name), {name: schema, **definitions})


def key_problems(
    checks: Mapping[str, Check], required: Collection[str], what: str, value: object
) -> Iterator[Problem]:
    """Yield the problems of an object with no keys but those of `checks`, as `keys_of` does."""
    if not isinstance(value, Mapping):
        yield Problem("", f"must be an object, not {shown(value)}")
        return
    for key, check_key in checks.items():
        if value.get(key) is not None:
            yield from at(key, check_key(value[key]))
        elif key in required:
            yield Problem(key, "is required")
    yield from unknown_keys(value, checks, what)


def _schema_of_keys(
    checks: Mapping[str, Check], required: Iterable[str], name: str, description: str
) -> Schema:
    properties = {
        key: check.schema if key in required else {**or_null(check.schema), "default": None}
        for key, check in checks.items()
    }
    return object_schema(name, description, properties, [key for key in checks if key in required])


def unknown_keys(record: Record, known: Iterable[str], what: str) -> Iterator[Problem]:
    """Yield a problem for each key that is not known, with the closest known one."""
    names = tuple(known)
    unknown = [key for key in record if key not in names]
    for key in unknown[:_REPORTED_UNKNOWN]:
        path = key if isinstance(key, str) and len(key) <= 100 and key.isprintable() else ""
        near = get_close_matches(path, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}"
        yield Problem(path, f"{shown(key)} is no field of {what}; {hint}")
