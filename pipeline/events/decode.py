"""The wire form of an event: how JSON becomes a row, or a reason why not."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import msgspec

from engine.design.experiment import Experiment
from pipeline.events.attributes import UNKNOWN_CLIENT, Client, segments_of
from pipeline.events.body import EventBody
from pipeline.events.hashing import hash64
from pipeline.events.rejections import (
    MAX_EVENT_BYTES,
    MAX_ID_LENGTH,
    MAX_NAME_LENGTH,
    MAX_SELECTOR_LENGTH,
    MAX_URL_LENGTH,
    RejectedError,
    checked_cents,
    checked_currency,
    checked_id,
    checked_text,
    checked_value,
    optional_id,
)
from pipeline.events.schema import (
    CONVERSION_KINDS,
    REQUIRED_FIELDS,
    ConvertEvent,
    EventResult,
    TrackEvent,
    rejection,
)
from pipeline.events.timestamps import MAX_AGE_US, occurred_at
from pipeline.store.warehouse.events import EventRow


@dataclass(frozen=True, slots=True)
class ProjectIds:
    """What an event may name: the variants of each experiment, and the goals of all."""

    variants: Mapping[str, frozenset[str]]
    goals: frozenset[str]

    @classmethod
    def of(cls, experiments: Iterable[Experiment]) -> "ProjectIds":
        """Take the ids of a project's experiments, whatever their status."""
        listed = tuple(experiments)
        return cls(
            {
                experiment.id: frozenset(variant.id for variant in experiment.variants)
                for experiment in listed
            },
            frozenset(goal.id for experiment in listed for goal in experiment.goals),
        )


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The circumstances events arrived in: when, for whom, from what browser, and how old they may be."""

    received_us: int
    known: ProjectIds
    client: Client = UNKNOWN_CLIENT
    is_excluded: bool = False
    max_age_us: int | None = MAX_AGE_US


@dataclass(frozen=True, slots=True)
class DecodedEvents:
    """The rows to store, and one result an event in the order they came."""

    rows: list[EventRow]
    results: list[EventResult]

    @property
    def rejected(self) -> int:
        """How many events are not stored."""
        return len(self.results) - len(self.rows)


def read_tracked(body: EventBody, reception: RequestContext) -> DecodedEvents:
    """Read the events of a `track` request: a bad one is rejected, the others stand."""
    row_of = partial(_tracked_row, reception=reception, sent_us=body.sent_us)
    return _read_each(body, reception, _decode_tracked, row_of)


def read_conversions(body: EventBody, reception: RequestContext) -> DecodedEvents:
    """Read the conversions of a `convert` request: a bad one is rejected, the others stand."""
    row_of = partial(_conversion_row, reception=reception, sent_us=body.sent_us)
    return _read_each(body, reception, _decode_conversion, row_of)


Wire = TypeVar("Wire", TrackEvent, ConvertEvent)
_decode_tracked: Final = msgspec.json.Decoder(TrackEvent).decode
_decode_conversion: Final = msgspec.json.Decoder(ConvertEvent).decode


def _read_each(
    body: EventBody,
    reception: RequestContext,
    decode: Callable[[msgspec.Raw], Wire],
    row_of: Callable[[Wire], EventRow],
) -> DecodedEvents:
    rows: list[EventRow] = []
    results: list[EventResult] = []
    for raw in body.events:
        try:
            if reception.is_excluded:
                raise RejectedError("excluded_address", "the project keeps nothing from this address")
            if body.size > MAX_EVENT_BYTES and memoryview(raw).nbytes > MAX_EVENT_BYTES:
                raise RejectedError("event_too_large", f"an event may have {MAX_EVENT_BYTES} bytes")
            row = row_of(decode(raw))
        except (ValueError, RecursionError) as error:
            results.append(rejection(raw, error))
        else:
            rows.append(row)
            results.append(EventResult(row.event_id, "ok"))
    return DecodedEvents(rows, results)


def _tracked_row(event: TrackEvent, reception: RequestContext, sent_us: int | None) -> EventRow:
    event_id = checked_id("event_id", event.event_id)
    event_type = _checked_type(event)
    visitor_id = checked_id("visitor_id", event.visitor_id)
    user_id = optional_id("user_id", event.user_id)
    if event_type == "exposure":
        _check_exposure(event, reception.known)
    url = checked_text("url", event.url, MAX_URL_LENGTH)
    return EventRow(
        received_at=reception.received_us,
        occurred_at=_occurred_at(event, reception, sent_us),
        event_id=event_id,
        event_key=hash64(event_id),
        type=event_type,
        visitor_id=visitor_id,
        visitor_key=hash64(visitor_id),
        user_id=user_id,
        user_key=None if user_id is None else hash64(user_id),
        experiment_id=checked_text("experiment_id", event.experiment_id, MAX_ID_LENGTH),
        variant_id=checked_text("variant_id", event.variant_id, MAX_ID_LENGTH),
        url=url,
        selector=checked_text("selector", event.selector, MAX_SELECTOR_LENGTH),
        event_name=checked_text("event_name", event.event_name, MAX_NAME_LENGTH),
        value=checked_value(event.value),
        visitor_identity="anonymous" if user_id is None else "identified",
        **segments_of(event.attributes, url, reception.client),
    )


def _occurred_at(event: TrackEvent | ConvertEvent, reception: RequestContext, sent_us: int | None) -> int:
    return occurred_at(
        event.timestamp,
        received_us=reception.received_us,
        sent_us=sent_us,
        max_age_us=reception.max_age_us,
    )


def _checked_type(event: TrackEvent) -> str:
    required = REQUIRED_FIELDS.get(event.type or "")
    if event.type is None or required is None:
        raise RejectedError("invalid_type", f"type {event.type!r} is none of {', '.join(REQUIRED_FIELDS)}")
    for field in required:
        if not getattr(event, field):
            raise RejectedError("invalid_event", f"an event of type {event.type} needs {field}")
    return event.type


def _check_exposure(event: TrackEvent, known: ProjectIds) -> None:
    variants = known.variants.get(event.experiment_id or "")
    if variants is None:
        raise RejectedError(
            "unknown_experiment", f"the project has no experiment {_short(event.experiment_id)}"
        )
    if event.variant_id not in variants:
        raise RejectedError(
            "unknown_variant",
            f"experiment {event.experiment_id} has no variant {_short(event.variant_id)}",
        )


def _conversion_row(event: ConvertEvent, reception: RequestContext, sent_us: int | None) -> EventRow:
    event_id = checked_id("event_id", event.event_id)
    is_refund = _is_refund(event)
    user_id = optional_id("user_id", event.user_id)
    visitor_id = optional_id("visitor_id", event.visitor_id)
    person = checked_id("visitor_id", visitor_id or user_id)
    _check_goal(event, reception.known)
    transaction_id = optional_id("transaction_id", event.transaction_id)
    return EventRow(
        received_at=reception.received_us,
        occurred_at=_occurred_at(event, reception, sent_us),
        event_id=event_id,
        event_key=hash64(event_id),
        type="conversion",
        visitor_id=visitor_id,
        visitor_key=hash64(person),
        user_id=user_id,
        user_key=None if user_id is None else hash64(user_id),
        goal_id=event.goal_id,
        event_name=checked_text("event_name", event.event_name, MAX_NAME_LENGTH),
        revenue_cents=checked_cents(event.revenue_cents, is_refund=is_refund),
        currency=checked_currency(event.currency),
        transaction_id=transaction_id,
        transaction_key=None if transaction_id is None else hash64(transaction_id),
        is_refund=is_refund,
        visitor_identity="anonymous" if user_id is None else "identified",
        **segments_of(event.attributes, None, reception.client),
    )


def _is_refund(event: ConvertEvent) -> bool:
    if event.kind not in CONVERSION_KINDS:
        raise RejectedError("invalid_type", f"kind {_short(event.kind)} is neither conversion nor refund")
    return event.kind == "refund"


def _check_goal(event: ConvertEvent, known: ProjectIds) -> None:
    if not event.goal_id and not event.event_name:
        raise RejectedError("invalid_event", "a conversion needs goal_id or event_name")
    if event.goal_id and event.goal_id not in known.goals:
        raise RejectedError("unknown_goal", f"the project has no goal {_short(event.goal_id)}")


def _short(text: str | None) -> str:
    return repr((text or "")[:40])
