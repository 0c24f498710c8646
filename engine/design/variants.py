"""Variants of an experiment and the changes that they make to the page."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from engine.design.invariants import distinct
from engine.design.payloads import MAX_BYTES, payload_json
from engine.design.weight_epochs import HEAVIEST
from engine.validation.check import unchecked
from engine.validation.record_fields import filled_in
from engine.validation.records import RecordRule, records_of, validate
from engine.validation.values import choice, flag, number, optional, text
from engine.vocabulary import ChangeAction, words

Name = Annotated[str, text(255)]
Selector = text(1024)
# Creation ignores the ids of parts, whatever they are.
PartId = Annotated[
    str,
    text(64),
    filled_in(
        optional(unchecked()).described(
            "Required to update a paused experiment; ignored on creation, which assigns one.",
            example="chg_n6d4wrpk3vq7xm2c5tzh",
        )
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that a variant makes to the page."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: PartId
    selector: Annotated[str, Selector.described("CSS selector of the element to change.")]
    action: Annotated[ChangeAction, choice(words(ChangeAction))]
    value: Annotated[
        str,
        text(64 * 1024, least=0, lines=True).described(
            "Text, HTML, `name=value` of an attribute, CSS declarations, or class names with `+` or `-`, as "
            "the action says; the address of a redirect.",
            example="Order now",
        ),
    ] = ""

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A variant of the experiment."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: PartId
    name: Name
    weight: Annotated[
        float,
        number(0, HEAVIEST).described("Relative weight: the share of a variant is its weight over the sum."),
    ] = 1.0
    is_control: Annotated[
        bool, flag.described("Whether this is the control. If no variant is marked, the first one is.")
    ] = False
    changes: Annotated[
        tuple[Change, ...], records_of(Change, distinct("id"), at_most=500, name="change")
    ] = ()
    payload: Annotated[
        Any,
        payload_json.described(
            f"JSON for your code, at most {MAX_BYTES:,} bytes. Needs public_variants; null for none.",
            example={"button": "Order now"},
        ),
    ] = None

    def __post_init__(self) -> None:
        validate(self)
