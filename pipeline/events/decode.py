"""Decoding of events: from JSON to the rows to store and a result for each event."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

from engine.currencies import minor_units
from engine.validation.sent_ids import MAX_ID_LENGTH
from pipeline.events.attributes import UNKNOWN_CLIENT, Client
from pipeline.events.body import EventBody
from pipeline.events.browser_money import BrowserMoney
from pipeline.events.field_checks import (
    checked_cents,
    checked_currency,
    checked_id,
    checked_text,
    checked_value,
    optional_id,
)
from pipeline.events.hashing import hash64
from pipeline.events.kept_segments import kept_segments_of
from pipeline.events.project_ids import ProjectIds
from pipeline.events.rejections import (
    LATE_REASON,
    NOT_COUNTED,
    OTHER_CURRENCY,
    EventResult,
    RejectedError,
    rejection,
)
from pipeline.events.schema import (
    CONVERSION,
    CONVERSION_KINDS,
    EVENT_TYPES,
    MAX_EVENT_BYTES,
    MAX_NAME_LENGTH,
    MAX_SELECTOR_LENGTH,
    MAX_URL_LENGTH,
    TRACKED_TYPES,
    ConvertEvent,
    TrackEvent,
)
from pipeline.events.timestamps import MAX_AGE_US, occurred_at
from pipeline.events.unique_members import repeat_no_member, require_unique_in_event
from pipeline.store.event_columns import EventRow, Sender
from pipeline.store.warehouse.late_visits import LATE


class RequestContext(msgspec.Struct, frozen=True):
    """Facts about a request that its events share.

    `received_us` is the time of receipt (epoch µs, UTC), `sender` the kind of sender, `client` the visitor's
    browser, `is_excluded` holds where the project excludes the sender's address, and events older than
    `max_age_us` are rejected. `address_key` is the keyed hash of a browser's address, and `browser_money`
    limits what a browser may report; servers and imports have neither.
    """

    received_us: int
    project_ids: ProjectIds
    sender: Sender
    client: Client = UNKNOWN_CLIENT
    is_excluded: bool = False
    max_age_us: int | None = MAX_AGE_US
    address_key: int | None = None
    browser_money: BrowserMoney | None = None


class DecodedEvents(msgspec.Struct, frozen=True):
    """Rows to store, and one result for each event in the order of the request."""

    rows: list[EventRow]
    results: list[EventResult]

    @property
    def rejected(self) -> int:
        """Number of events that are not stored."""
        return len(self.results) - len(self.rows)


def decode_tracked(body: EventBody, context: RequestContext) -> DecodedEvents:
    """Decode the events of a `track` request; a bad event is rejected without the others.

    One of the type `conversion` is decoded as `convert` does.
    """
    return _decode_each(body, context, _parse_tracked)


def decode_conversions(body: EventBody, context: RequestContext) -> DecodedEvents:
    """Decode the conversions of a `convert` request; a bad one is rejected without the others."""
    return _decode_each(body, context, _parse_conversion)


Event: TypeAlias = TrackEvent | ConvertEvent


class _Type(msgspec.Struct):
    type: Any = None


_decode_tracked: Final = msgspec.json.Decoder(TrackEvent).decode
_decode_type: Final = msgspec.json.Decoder(_Type).decode
_parse_conversion: Final = msgspec.json.Decoder(ConvertEvent).decode


def _decode_each(
    body: EventBody,
    context: RequestContext,
    parse: Callable[[msgspec.Raw], Event],
) -> DecodedEvents:
    parsed = _parse_each(body, context, parse)
    # Asked of all at once, and of each only where one of them may be to blame.
    is_unique = body.is_plain and _are_unique(body.events, parsed)
    rows: list[EventRow] = []
    results: list[EventResult] = []
    for raw, event in zip(body.events, parsed, strict=True):
        if isinstance(event, EventResult):
            results.append(event)
            continue
        try:
            if not is_unique:
                require_unique_in_event(bytes(raw), event)
            row = _row_of(event, context, body.sent_us)
        except (ValueError, RecursionError) as error:
            results.append(rejection(raw, error))
        else:
            rows.append(row)
            results.append(_result_of(row, context.project_ids))
    return DecodedEvents(rows, results)


def _result_of(row: EventRow, ids: ProjectIds) -> EventResult:
    """Build the result of an event that is stored: whether an exposure or the currency of an order counts."""
    if row.not_counted is not None:
        return EventResult(row.event_id, "ok", NOT_COUNTED, LATE_REASON)
    counted = ids.currencies.get(row.goal_id or row.event_name or "") if row.currency else None
    if counted is None or row.currency in counted:
        return EventResult(row.event_id, "ok")
    return EventResult(
        row.event_id,
        "ok",
        OTHER_CURRENCY,
        f"stored, but no revenue goal counts an order in {row.currency}: they count "
        f"{', '.join(sorted(counted))}; give the project's exchange_rates one for {row.currency}",
    )


def _parse_tracked(raw: msgspec.Raw) -> Event:
    try:
        event = _decode_tracked(raw)
    except msgspec.ValidationError:
        # A field that only other events have is nothing to a conversion.
        if _decode_type(raw).type != CONVERSION:
            raise
        return _parse_conversion(raw)
    return _parse_conversion(raw) if event.type == CONVERSION else event


def _parse_each(
    body: EventBody, context: RequestContext, parse: Callable[[msgspec.Raw], Event]
) -> list[Event | EventResult]:
    """Parse the events of a body; those that cannot be are rejected."""
    parsed: list[Event | EventResult] = []
    may_be_large = body.size > MAX_EVENT_BYTES
    for raw in body.events:
        try:
            if context.is_excluded:
                raise RejectedError("excluded_address", "the project keeps nothing from this address")
            if may_be_large and len(raw) > MAX_EVENT_BYTES:
                raise RejectedError("event_too_large", f"an event may have {MAX_EVENT_BYTES} bytes")
            parsed.append(parse(raw))
        except (ValueError, RecursionError) as error:
            parsed.append(rejection(raw, error))
    return parsed


def _are_unique(texts: Iterable[msgspec.Raw], parsed: Iterable[Event | EventResult]) -> bool:
    """Return whether no event that was parsed names a member twice, where that is quick to tell."""
    pairs = zip(texts, parsed, strict=True)
    read = [(text, event) for text, event in pairs if not isinstance(event, EventResult)]
    return repeat_no_member([text for text, _ in read], [event for _, event in read])


def _row_of(event: Event, context: RequestContext, sent_us: int | None) -> EventRow:
    if isinstance(event, TrackEvent):
        return _tracked_row(event, context, sent_us)
    return _conversion_row(event, context, sent_us)


def _tracked_row(event: TrackEvent, context: RequestContext, sent_us: int | None) -> EventRow:
    event_id = checked_id("event_id", event.event_id)
    event_type = _checked_type(event)
    visitor_id = checked_id("visitor_id", event.visitor_id)
    user_id = optional_id("user_id", event.user_id)
    if event_type == "exposure":
        _check_exposure(event, context.project_ids)
    value, cents, currency = _value_of(event, context)
    url = checked_text("url", event.url, MAX_URL_LENGTH)
    segments = kept_segments_of(event.attributes, url, context.client, is_user=user_id is not None)
    # By place, since so many names would take a fifth of the time of an event.
    return EventRow._make(
        (
            context.received_us,
            _occurred_at(event, context, sent_us),
            event_id,
            hash64(event_id),
            event_type,
            visitor_id,
            hash64(visitor_id),
            user_id,
            None if user_id is None else hash64(user_id),
            checked_text("experiment_id", event.experiment_id, MAX_ID_LENGTH),
            checked_text("variant_id", event.variant_id, MAX_ID_LENGTH),
            None,  # goal_id
            url,
            checked_text("selector", event.selector, MAX_SELECTOR_LENGTH),
            checked_text("event_name", event.event_name, MAX_NAME_LENGTH),
            value,
            cents,
            currency,
            None,  # transaction_id
            None,  # transaction_key
            False,  # is_refund
            segments.is_bot,
            *segments.values,
            segments.custom,
            context.sender,
            context.address_key,
            LATE if event.late and event_type == "exposure" else None,  # not_counted
            segments.header_fields,
        )
    )


def _value_of(event: TrackEvent, context: RequestContext) -> tuple[float | None, int | None, str | None]:
    """Return the value of a tracked event; of a custom event with money, its minor units and currency too."""
    is_paid = context.browser_money is not None and event.event_name in context.project_ids.paid_events
    if event.revenue_cents is None or event.type != "custom_event":
        if is_paid and context.browser_money is not None:
            context.browser_money.check_value(event.value)
        return checked_value(event.value), None, None
    if event.value is not None:
        raise RejectedError("invalid_value", "value and revenue_cents say the same: send one of them")
    cents = checked_cents(event.revenue_cents, is_refund=False) or 0
    currency = checked_currency(event.currency) or context.project_ids.currency
    if is_paid and context.browser_money is not None:
        context.browser_money.check_cents(cents, currency)
    return cents / minor_units(currency), cents, currency


def _occurred_at(event: TrackEvent | ConvertEvent, context: RequestContext, sent_us: int | None) -> int:
    if event.timestamp is None:
        return context.received_us
    return occurred_at(
        event.timestamp, received_us=context.received_us, sent_us=sent_us, max_age_us=context.max_age_us
    )


def _checked_type(event: TrackEvent) -> str:
    event_type = EVENT_TYPES.get(event.type or "")
    if event.type is None or event_type is None:
        raise RejectedError("invalid_type", f"type {event.type!r} is none of {', '.join(TRACKED_TYPES)}")
    for name in event_type.required:
        if not getattr(event, name):
            raise RejectedError("invalid_event", f"an event of type {event.type} needs {name}")
    return event.type


def _check_exposure(event: TrackEvent, ids: ProjectIds) -> None:
    variants = ids.variants.get(event.experiment_id or "")
    if variants is None:
        raise RejectedError(
            "unknown_experiment", f"the project has no experiment {_short(event.experiment_id)}"
        )
    if event.variant_id not in variants:
        raise RejectedError(
            "unknown_variant",
            f"experiment {event.experiment_id} has no variant {_short(event.variant_id)}",
        )


def _conversion_row(event: ConvertEvent, context: RequestContext, sent_us: int | None) -> EventRow:
    event_id = checked_id("event_id", event.event_id)
    is_refund = _is_refund(event)
    user_id = optional_id("user_id", event.user_id)
    visitor_id = optional_id("visitor_id", event.visitor_id)
    # Until a visitor is known, the user stands in.
    key_id = checked_id("visitor_id", visitor_id or user_id)
    _check_goal(event, context.project_ids)
    transaction_id = optional_id("transaction_id", event.transaction_id)
    cents = checked_cents(event.revenue_cents, is_refund=is_refund)
    currency = checked_currency(event.currency)
    if context.browser_money is not None:
        context.browser_money.check_order(cents, currency, is_refund=is_refund)
    segments = kept_segments_of(event.attributes, None, context.client, is_user=user_id is not None)
    return EventRow._make(
        (
            context.received_us,
            _occurred_at(event, context, sent_us),
            event_id,
            hash64(event_id),
            CONVERSION,
            visitor_id,
            hash64(key_id),
            user_id,
            None if user_id is None else hash64(user_id),
            None,  # experiment_id
            None,  # variant_id
            event.goal_id,
            None,  # url
            None,  # selector
            checked_text("event_name", event.event_name, MAX_NAME_LENGTH),
            None,  # value
            cents,
            currency,
            transaction_id,
            None if transaction_id is None else hash64(transaction_id),
            is_refund,
            segments.is_bot,
            *segments.values,
            segments.custom,
            context.sender,
            context.address_key,
            None,  # not_counted
            segments.header_fields,
        )
    )


def _is_refund(event: ConvertEvent) -> bool:
    if event.kind not in CONVERSION_KINDS:
        raise RejectedError("invalid_type", f"kind {_short(event.kind)} is neither conversion nor refund")
    return event.kind == "refund"


def _check_goal(event: ConvertEvent, ids: ProjectIds) -> None:
    if not event.goal_id and not event.event_name:
        raise RejectedError("invalid_event", "a conversion needs goal_id or event_name")
    if event.goal_id and event.goal_id not in ids.goals:
        raise RejectedError("unknown_goal", f"the project has no goal {_short(event.goal_id)}")


def _short(text: str | None) -> str:
    return repr((text or "")[:40])
