"""Unit of an experiment: the visitor, the user, or what an attribute names, such as an account."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from engine.design.targeting.fields import TARGETING_FIELDS
from engine.errors import Problem
from engine.validation.check import Check, object_schema
from engine.validation.records import RecordRule, record_of, validate
from engine.validation.sent_ids import MAX_ID_LENGTH, id_text
from engine.validation.values import in_turn, shown, text
from engine.vocabulary import UnitWord, words

VISITOR: Final = "visitor"
NO_UNIT: Final = "no_unit"
"""Reason for which a visitor without the unit's id is not assigned."""
# Objects in which senders give further attributes.
CUSTOM_OBJECTS: Final = ("custom_dimensions", "custom_dimension")
# Attributes that the service reads itself: none of them is an id of the project's own.
_READ_BY_SERVICE: Final = frozenset(
    {*TARGETING_FIELDS, *CUSTOM_OBJECTS, "cookies", "query_params", "user_agent"}
)


def _own_attribute(key: str) -> Iterator[Problem]:
    if key in _READ_BY_SERVICE:
        yield Problem("", f"{shown(key)} is an attribute that the service reads; name an id such as account")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeUnit:
    """A unit by the id in an attribute of visitors."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    attribute: Annotated[str, in_turn(text(MAX_ID_LENGTH), _own_attribute)]

    def __post_init__(self) -> None:
        validate(self)


Unit = UnitWord | AttributeUnit
_check_attribute: Final = record_of(AttributeUnit, "a unit")


def _problems(value: object) -> Iterable[Problem]:
    if isinstance(value, Mapping | AttributeUnit):
        return _check_attribute(value)
    if isinstance(value, str) and value in words(UnitWord):
        return ()
    return (Problem("", f'must be {", ".join(words(UnitWord))} or {{"attribute": key}}, not {shown(value)}'),)


# Within, and no definition: the list of tools for assistants has little room.
_OF_ATTRIBUTE: Final = object_schema("", "", {"attribute": {"type": "string"}}, ["attribute"])
UNIT: Final = Check(_problems, {"anyOf": [{"type": "string", "enum": list(words(UnitWord))}, _OF_ATTRIBUTE]})


def is_clustered(unit: Unit) -> bool:
    """Tell whether a unit may have several visitors."""
    return unit != VISITOR


def unit_attribute(unit: Unit) -> str | None:
    """Return the key of the attribute with the unit's id; None for visitors and users."""
    return unit.attribute if isinstance(unit, AttributeUnit) else None


def unit_name(unit: Unit) -> str:
    """Name a unit: `visitor`, `user`, or the key of its attribute."""
    return unit.attribute if isinstance(unit, AttributeUnit) else unit


def unit_noun(unit: Unit) -> str:
    """Return what one is called in sentences: a key such as `account_id` has no plural."""
    return "unit" if isinstance(unit, AttributeUnit) else unit


def unit_id(unit: Unit, *, visitor_id: str, user_id: str | None, attributes: Mapping[str, Any]) -> str | None:
    """Return the id that assignment hashes; None where a visitor has none.

    `attributes` are those that the sender gives, those in CUSTOM_OBJECTS before the others.
    """
    if unit == VISITOR:
        return visitor_id
    if not isinstance(unit, AttributeUnit):
        return id_text(user_id)
    value = attributes.get(unit.attribute)
    for name in CUSTOM_OBJECTS:
        nested = attributes.get(name)
        if isinstance(nested, Mapping) and unit.attribute in nested:
            value = nested[unit.attribute]
    return id_text(value)
