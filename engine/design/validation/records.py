"""Whether a record, plain or built, is what its class asks for: every problem at once, each rule said once.

A dataclass says what each field must be with a check in `Annotated`, and what must hold between its
fields in `RULES`. The same checks judge JSON-like input before it is built and the object when it is.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from engine.design.validation.values import Check, at, shown
from engine.errors import InvalidDesignError, Problem

Record = Mapping[str, Any]
RecordRule = Callable[[Record], Iterable[Problem]]
"""Judges fields against each other; fields that are unsound by themselves are absent from what it sees."""
ListRule = Callable[[Sequence[Record]], Iterable[Problem]]
"""Judges the records of a list against each other; an unsound field is absent here, too."""

_REPORTED_UNKNOWN = 20


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    name: str
    check: Check
    is_required: bool
    item_class: type | None


@cache
def _fields(cls: type) -> tuple[_Field, ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        _Field(
            field.name,
            get_args(hints[field.name])[1],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
            _item_class(get_args(hints[field.name])[0]),
        )
        for field in dataclasses.fields(cls)
        if get_origin(hints[field.name]) is Annotated
    )


def _item_class(hint: object) -> type | None:
    """The dataclass of which a field holds a tuple, if it does."""
    item = get_args(hint)[0] if get_origin(hint) is tuple else None
    return item if isinstance(item, type) and dataclasses.is_dataclass(item) else None


def validate(built: object) -> None:
    """Raise InvalidDesignError with every problem of a dataclass that was just built."""
    cls: type = type(built)
    problems = problems_in(as_mapping(built), cls)
    for field in _fields(cls):
        items = getattr(built, field.name)
        if field.item_class and not (
            isinstance(items, tuple) and all(isinstance(item, field.item_class) for item in items)
        ):
            problems.append(Problem(field.name, f"must be a tuple of {field.item_class.__name__}"))
    if problems:
        raise InvalidDesignError(problems)


def problems_in(record: Record, cls: type) -> list[Problem]:
    """List every problem of a record that is to become a `cls`; its defaults stand in for absent fields."""
    problems: list[Problem] = []
    sound = {**_defaults(cls), **record}
    for field in _fields(cls):
        if field.name not in record:
            found = [Problem(field.name, "is required")] if field.is_required else []
        else:
            found = list(at(field.name, field.check(record[field.name])))
        if found:
            problems += found
            sound.pop(field.name, None)
    for rule in cls.RULES:  # type: ignore[attr-defined]  # every record class has them, if only ()
        problems += rule(sound)
    return problems


@cache
def _defaults(cls: type) -> Record:
    plain = {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}
    made = {
        f.name: f.default_factory()
        for f in dataclasses.fields(cls)
        if f.default_factory is not dataclasses.MISSING
    }
    return {**plain, **made}


def as_mapping(record: object) -> Record:
    """A record as a mapping of its fields, whether it is still plain or built already."""
    if isinstance(record, Mapping):
        return record
    cls: type = type(record)
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(cls)}


def record_of(cls: type, name: str) -> Check:
    """A `cls`, built or still plain; `name` is what people call it."""
    known = tuple(field.name for field in dataclasses.fields(cls))

    def check(value: object) -> Iterable[Problem]:
        if isinstance(value, cls):
            # It was judged when it was built.
            return ()
        if not isinstance(value, Mapping):
            return (Problem("", f"must be an object, not {shown(value)}"),)
        return [*problems_in(value, cls), *unknown_keys(value, known, name)]

    return check


def records_of(cls: type, *rules: ListRule, at_most: int, name: str) -> Check:
    """A list of at most so many `cls`, built or still plain, that obey `rules` together."""
    check_one = record_of(cls, f"a {name}")

    def check(value: object) -> Iterator[Problem]:
        if not isinstance(value, list | tuple):
            yield Problem("", f"must be a list, not {shown(value)}")
            return
        if len(value) > at_most:
            yield Problem("", f"holds {len(value):,} {name}s; at most {at_most:,} are possible")
            return
        sound: list[Record] = []
        for index, item in enumerate(value):
            problems = list(check_one(item))
            yield from at(f"[{index}]", problems)
            sound.append(_sound_part(item, cls, problems))
        for rule in rules:
            yield from rule(sound)

    return check


def _sound_part(item: object, cls: type, problems: Iterable[Problem]) -> Record:
    if not isinstance(item, Mapping | cls):
        return {}
    unsound = {problem.field.partition(".")[0].partition("[")[0] for problem in problems}
    whole = {**_defaults(cls), **as_mapping(item)}
    return {name: value for name, value in whole.items() if name not in unsound}


def keys_of(checks: Mapping[str, Check], *, required: Iterable[str] = (), what: str) -> Check:
    """An object with no keys but those of `checks`; one that is not required may be null."""
    needed = frozenset(required)

    def check(value: object) -> Iterator[Problem]:
        if not isinstance(value, Mapping):
            yield Problem("", f"must be an object, not {shown(value)}")
            return
        for key, check_key in checks.items():
            if value.get(key) is not None:
                yield from at(key, check_key(value[key]))
            elif key in needed:
                yield Problem(key, "is required")
        yield from unknown_keys(value, checks, what)

    return check


def unknown_keys(record: Record, known: Iterable[str], what: str) -> Iterator[Problem]:
    """Point at keys that are none of the known, with the one that may have been meant."""
    names = tuple(known)
    unknown = [key for key in record if key not in names]
    for key in unknown[:_REPORTED_UNKNOWN]:
        path = key if isinstance(key, str) and len(key) <= 100 and key.isprintable() else ""
        near = get_close_matches(path, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}"
        yield Problem(path, f"{shown(key)} is no field of {what}; {hint}")
