import pytest

from engine.vocabulary import GoalType, words
from pipeline.events.rejections import CODES
from pipeline.events.schema import (
    CONVERSION,
    EVENT_TYPES,
    MATCHED_BY,
    ConvertEvent,
    EventType,
    TrackEvent,
    fields_of,
)
from pipeline.store.warehouse.events import EVENT_SCHEMA


@pytest.mark.parametrize("event_type", EVENT_TYPES.values(), ids=EVENT_TYPES)
def test_an_event_type_requires_fields_of_a_tracked_event(event_type: EventType) -> None:
    required = set(event_type.required)
    assert required
    assert required <= set(TrackEvent.__struct_fields__)


def test_every_goal_type_counts_some_type_of_tracked_event() -> None:
    counted = {goal_type for event_type in EVENT_TYPES.values() for goal_type in event_type.goal_types}
    assert counted == set(words(GoalType))


def test_events_are_matched_by_columns_of_the_events_table() -> None:
    assert set(MATCHED_BY) == {"pageview", "click", "custom_event", "ga4_event", CONVERSION}
    columns = {name for names in MATCHED_BY.values() for name in names}
    assert columns <= set(EVENT_SCHEMA)


@pytest.mark.parametrize("event", [TrackEvent, ConvertEvent])
def test_every_field_has_a_rejection_code_that_is_documented(event: type[TrackEvent | ConvertEvent]) -> None:
    fields = fields_of(event)
    assert list(fields) == list(event.__struct_fields__)
    assert {field.code for _, field in fields.values()} <= set(CODES)


def test_required_fields_are_those_of_every_type() -> None:
    assert [name for name, (_, field) in fields_of(TrackEvent).items() if field.is_required] == [
        "event_id",
        "type",
        "visitor_id",
    ]
    assert [name for name, (_, field) in fields_of(ConvertEvent).items() if field.is_required] == ["event_id"]
