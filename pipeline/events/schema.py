"""Event schema: the types and fields that `track` and `convert` accept.

Decoding, rejection codes, goal matching and the OpenAPI document derive from these tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_type_hints

import msgspec

from engine.currencies import MAX_MINOR_UNITS
from engine.vocabulary import GoalType
from pipeline.events.timestamps import Timestamp

MAX_EVENT_BYTES: Final = 32 * 1024
MAX_NAME_LENGTH: Final = 200
MAX_SELECTOR_LENGTH: Final = 2_000
MAX_URL_LENGTH: Final = 8_000
MAX_CENTS: Final = MAX_MINOR_UNITS
MAX_VALUE: Final = 1e15


@dataclass(frozen=True, slots=True, kw_only=True)
class EventType:
    """A type of tracked event.

    `required` names the fields it needs besides `event_id`, `type` and `visitor_id`; `matched_by` the fields
    that a goal of one of `goal_types` is compared with.
    """

    required: tuple[str, ...]
    matched_by: tuple[str, ...] = ()
    goal_types: tuple[GoalType, ...] = ()


EVENT_TYPES: Final[Mapping[str, EventType]] = {
    "exposure": EventType(required=("experiment_id", "variant_id")),
    "pageview": EventType(required=("url",), matched_by=("url",), goal_types=("pageview",)),
    "click": EventType(required=("selector",), matched_by=("selector", "url"), goal_types=("click",)),
    "custom_event": EventType(
        required=("event_name",), matched_by=("event_name",), goal_types=("custom_event", "revenue")
    ),
    "ga4_event": EventType(
        required=("event_name",), matched_by=("event_name",), goal_types=("ga4_event", "revenue")
    ),
    "identify": EventType(required=("user_id",)),
}
# The type under which `convert` stores its events, and `track` takes them; any goal may count them.
CONVERSION: Final = "conversion"
TRACKED_TYPES: Final = (*EVENT_TYPES, CONVERSION)
CONVERSION_KINDS: Final = ("conversion", "refund")
# The fields that tell events of a type apart, of the types that goals count.
MATCHED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: event_type.matched_by for name, event_type in EVENT_TYPES.items() if event_type.goal_types},
    CONVERSION: ("goal_id", "event_name"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventField:
    """Documentation of a field, and its rejection code where the value has another JSON type.

    Decoding takes even a required field as optional: a missing one is rejected with a code of its own.
    """

    description: str | None = None
    code: str = "invalid_event"
    is_required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    example: Any = None


_EventId = Annotated[
    str | None,
    EventField(
        description="Yours; the same one again counts once.",
        code="invalid_event_id",
        is_required=True,
        example="e_90c2",
    ),
]
_Time = Annotated[
    Timestamp | None,
    EventField(
        description="ISO 8601, or milliseconds since 1970; by default now.",
        code="invalid_timestamp",
        example="2026-03-02T09:30:00Z",
    ),
]


class TrackEvent(msgspec.Struct, omit_defaults=True):
    """A tracked event; of a conversion, the fields are those of ConvertEvent."""

    event_id: _EventId = None
    type: Annotated[str | None, EventField(code="invalid_type", is_required=True, choices=TRACKED_TYPES)] = (
        None
    )
    visitor_id: Annotated[str | None, EventField(code="invalid_visitor_id", is_required=True)] = None
    user_id: Annotated[
        str | None, EventField(description="Required for identify.", code="invalid_user_id")
    ] = None
    timestamp: _Time = None
    experiment_id: Annotated[
        str | None,
        EventField(description="Required for exposure, as is variant_id."),
    ] = None
    variant_id: Annotated[str | None, EventField()] = None
    late: Annotated[bool | None, EventField()] = None
    url: Annotated[str | None, EventField(description="Required for pageview.")] = None
    selector: Annotated[str | None, EventField(description="Required for click.")] = None
    event_name: Annotated[str | None, EventField(description="Required for custom_event and ga4_event.")] = (
        None
    )
    value: Annotated[float | None, EventField(code="invalid_value")] = None
    revenue_cents: Annotated[
        int | None,
        EventField(
            description="Money of a conversion or custom_event.",
            code="invalid_value",
            minimum=0,
            maximum=MAX_CENTS,
        ),
    ] = None
    currency: Annotated[
        str | None,
        EventField(description="ISO 4217; the project's if absent.", code="invalid_currency"),
    ] = None
    attributes: Annotated[
        dict[str, Any] | None,
        EventField(
            description="Segments such as country; every other key is a custom dimension.",
            code="invalid_attributes",
        ),
    ] = None


class ConvertEvent(msgspec.Struct, omit_defaults=True):
    """A conversion, an order or a refund."""

    event_id: _EventId = None
    visitor_id: Annotated[
        str | None,
        EventField(description="This or user_id is required.", code="invalid_visitor_id"),
    ] = None
    user_id: Annotated[str | None, EventField(code="invalid_user_id")] = None
    goal_id: Annotated[
        str | None,
        EventField(description="This or event_name is required."),
    ] = None
    event_name: Annotated[str | None, EventField()] = None
    revenue_cents: Annotated[
        int | None,
        EventField(description="Required for a refund.", code="invalid_value", minimum=0, maximum=MAX_CENTS),
    ] = None
    currency: Annotated[
        str | None,
        EventField(description="ISO 4217; the project's if absent.", code="invalid_currency"),
    ] = None
    transaction_id: Annotated[
        str | None,
        EventField(
            description="An order counts once for a goal.",
            code="invalid_transaction_id",
            example="order-1001",
        ),
    ] = None
    kind: Annotated[str, EventField(code="invalid_type", choices=CONVERSION_KINDS)] = CONVERSION
    timestamp: _Time = None
    attributes: Annotated[dict[str, Any] | None, EventField(code="invalid_attributes")] = None


CONVERSION_FIELDS: Final = tuple(
    name for name in ConvertEvent.__struct_fields__ if name not in TrackEvent.__struct_fields__
)


def fields_of(event: type[TrackEvent | ConvertEvent]) -> dict[str, tuple[Any, EventField]]:
    """List the fields of an event by name, in order: the annotation of the JSON type, and the EventField."""
    hints = get_type_hints(event, include_extras=True)
    annotations = {name: get_args(hints[name]) for name in event.__struct_fields__}
    return {name: (json_type, field) for name, (json_type, field) in annotations.items()}
