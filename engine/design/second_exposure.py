"""Second exposure: the event by which visitors reach the part of the site that variants change."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.measures.event_selection import EVENT_NAME
from engine.validation.records import RecordRule, validate


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondExposure:
    """A custom event at or after the assignment, from which outcomes count in the second look."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    event: Annotated[
        str,
        EVENT_NAME.described("Custom event.", example="basket_seen"),
    ]

    def __post_init__(self) -> None:
        validate(self)
