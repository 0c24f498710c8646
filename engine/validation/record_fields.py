"""Fields of record classes: their checks, defaults and access, and the JSON schema of their input."""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from engine.validation.check import Check, Schema, object_schema, takes_null


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """How callers may write a field; a field without it is writable."""

    kind: Literal["assigned", "internal", "filled in"]
    input_check: Check | None = None


ASSIGNED = Access("assigned")
"""The service sets the field: callers may send back what they read, and it is ignored."""
INTERNAL = Access("internal")
"""No caller reads or writes the field."""


def filled_in(input_check: Check) -> Access:
    """Callers may leave the field out, and the service fills it in; `input_check` is of what they send."""
    return Access("filled in", input_check)


@dataclasses.dataclass(frozen=True, slots=True)
class RecordField:
    """A field of a record class that has a check."""

    name: str
    check: Check
    access: Access | None
    is_required: bool
    item_class: type | None
    """The dataclass of which the field holds a tuple."""

    @property
    def is_writable(self) -> bool:
        """Whether callers may write the field."""
        return self.access is None or self.access.kind == "filled in"


@cache
def record_fields(cls: type) -> tuple[RecordField, ...]:
    """Return the fields that have a check in `Annotated`, in order."""
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        _record_field(field, *get_args(hints[field.name]))
        for field in dataclasses.fields(cls)
        if get_origin(hints[field.name]) is Annotated
    )


def _record_field(field: dataclasses.Field[Any], hint: object, check: Check, *more: object) -> RecordField:
    return RecordField(
        name=field.name,
        check=check,
        access=next((item for item in more if isinstance(item, Access)), None),
        is_required=field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        item_class=_item_class(hint),
    )


def _item_class(hint: object) -> type | None:
    item = get_args(hint)[0] if get_origin(hint) is tuple else None
    return item if isinstance(item, type) and dataclasses.is_dataclass(item) else None


@cache
def defaults(cls: type) -> Mapping[str, Any]:
    """Return the default of each field that has one."""
    plain = {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}
    made = {
        f.name: f.default_factory()
        for f in dataclasses.fields(cls)
        if f.default_factory is not dataclasses.MISSING
    }
    return {**plain, **made}


@cache
def writable(cls: type) -> tuple[str, ...]:
    """Return the names of the fields that callers may write, in order."""
    return tuple(field.name for field in record_fields(cls) if field.is_writable)


@cache
def assigned(cls: type) -> tuple[str, ...]:
    """Return the names of the fields that the service sets, in order."""
    return tuple(field.name for field in record_fields(cls) if field.access is ASSIGNED)


def input_checks(cls: type) -> dict[str, Check]:
    """Return the check of what callers send, for each writable field."""
    return {
        field.name: (field.access.input_check if field.access else None) or field.check
        for field in record_fields(cls)
        if field.is_writable
    }


def input_schema(cls: type) -> Schema:
    """Return the JSON schema of a record as callers send it; its references are `input_definitions`."""
    properties = {name: {**check.schema} for name, check in input_checks(cls).items()}
    for name, default in _input_defaults(cls):
        properties[name]["default"] = default
    required = [field.name for field in record_fields(cls) if field.is_required and field.access is None]
    return object_schema(cls.__name__, _summary(cls), properties, required)


def input_definitions(cls: type) -> dict[str, Schema]:
    """Return the definitions that the input schema refers to, by name."""
    return {
        name: schema for check in input_checks(cls).values() for name, schema in check.definitions.items()
    }


def _input_defaults(cls: type) -> Iterator[tuple[str, object]]:
    own = defaults(cls)
    for name, check in input_checks(cls).items():
        if name in own:
            yield name, msgspec.json.decode(msgspec.json.encode(own[name]))
        elif takes_null(check.schema):
            yield name, None


def _summary(cls: type) -> str:
    """Return the first paragraph of a class's docstring on one line."""
    return " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())
