"""Columns of a decoded event: each field is in its own."""

import json

from pipeline.events.decode import RequestContext, decode_conversions, decode_tracked
from pipeline.events.hashing import hash64
from pipeline.events.project_ids import ProjectIds
from tests.builders import a_project, an_experiment
from tests.pipeline.events.event_bodies import read_body

# 2026-03-01T09:30:00Z.
RECEIVED = 1_772_357_400_000_000
ATTRIBUTES = {
    "traffic_source": "email",
    "device_type": "mobile",
    "visitor_type": "returning",
    "os": "iOS",
    "country": "US",
    "region": "CA",
    "browser": "Safari",
    "language": "en-US",
    "utm_source": "news",
    "utm_medium": "mail",
    "utm_campaign": "spring",
    "plan": "pro",
}
# What an event above has beside its own columns, and what it has where it says nothing.
SHARED_COLUMNS = {
    **{name: ATTRIBUTES[name] for name in ATTRIBUTES.keys() - {"plan"}},
    "received_at": RECEIVED,
    "occurred_at": RECEIVED - 1_000_000,
    "visitor_id": "v1",
    "visitor_key": hash64("v1"),
    "user_id": "u1",
    "user_key": hash64("u1"),
    "event_name": "buy",
    "is_bot": False,
    "visitor_identity": "identified",
    "custom": '{"plan":"pro"}',
    "sender": "browser",
    "address_key": 7,
    "not_counted": None,
    "header_fields": 0,
}
FROM_A_BROWSER = RequestContext(
    RECEIVED, ProjectIds.of([an_experiment(status="running")], a_project()), "browser", address_key=7
)
SHARED_FIELDS = {
    "visitor_id": "v1",
    "user_id": "u1",
    "timestamp": "2026-03-01T09:29:59Z",
    "event_name": "buy",
    "attributes": ATTRIBUTES,
}


def test_each_field_of_a_tracked_event_is_in_its_column() -> None:
    fields = {"url": "https://shop.example/", "selector": "#buy", "value": 2.5}
    ids = {"experiment_id": "exp_1", "variant_id": "var_1"}
    event = {**SHARED_FIELDS, **fields, **ids, "event_id": "e7", "type": "exposure"}
    body = read_body(json.dumps({"batch": [event]}).encode())
    (row,) = decode_tracked(body, FROM_A_BROWSER).rows
    orders = ("goal_id", "revenue_cents", "currency", "transaction_id", "transaction_key")
    assert row._asdict() == {
        **SHARED_COLUMNS,
        **fields,
        **ids,
        **dict.fromkeys(orders),
        "event_id": "e7",
        "event_key": hash64("e7"),
        "type": "exposure",
        "is_refund": False,
    }


def test_each_field_of_a_conversion_is_in_its_column() -> None:
    fields = {"goal_id": "goal_1", "revenue_cents": 1_999, "currency": "EUR", "transaction_id": "t1"}
    event = {**SHARED_FIELDS, **fields, "event_id": "e8", "kind": "refund"}
    body = read_body(json.dumps(event).encode(), single=True)
    (row,) = decode_conversions(body, FROM_A_BROWSER).rows
    assert row._asdict() == {
        **SHARED_COLUMNS,
        **fields,
        **dict.fromkeys(("experiment_id", "variant_id", "url", "selector", "value")),
        "event_id": "e8",
        "event_key": hash64("e8"),
        "type": "conversion",
        "transaction_key": hash64("t1"),
        "is_refund": True,
    }
