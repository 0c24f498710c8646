import json
from collections.abc import Iterable
from copy import deepcopy
from itertools import product
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.api.customers import Customer
from tests.api.request_bodies import CONTROL, TREATMENT, an_experiment_body, error_of
from tests.examples import examples

SHOP = {
    "name": "Shop",
    "url": "https://shop.example",
    "platform": "shopify",
    "reporting_timezone": "Europe/Berlin",
    "integrations": {"ga4": {"enabled": True, "measurement_id": "G-ABC"}, "gtm": {"enabled": False}},
    "environments": [{"key": "live", "name": "Live", "hostnames": ["shop.example"]}],
    "settings": {"domains": ["shop.example"], "revenue_currency": "EUR", "excluded_ips": ["10.0.0.0/8"]},
}
WHOLE = an_experiment_body(
    type="visual",
    public_variants=True,
    variants=[{**CONTROL, "payload": {"label": "Buy"}}, {**TREATMENT, "payload": {"sizes": [1, 2.5, None]}}],
    url="https://shop.example/*",
    url_match_type="wildcard",
    url_rules=[{"type": "exclude", "match_type": "regex", "value": "/admin"}],
    hypothesis="A shorter label sells more.",
    trigger="click",
    trigger_selector="#buy",
    stop_conditions={"visitor_limit": 1000, "conversion_limit": None, "auto_stop_on_winner": False},
    scheduled_end_at="2031-01-01T00:00:00Z",
    targeting_rules={
        "version": 2,
        "root": {
            "operator": "and",
            "children": [
                {"field": "country", "operator": "in", "values": ["DE"]},
                {"operator": "not", "children": [{"field": "url", "operator": "regex", "values": ["^/a"]}]},
            ],
        },
    },
    assigned_user_ids=[],
    tags=["checkout"],
)

MEMBER = {"name": "Cy", "role": "admin"}
KEY = {"name": "CI", "environment": "live", "scopes": ["projects:read"], "project_ids": []}
METRIC = {
    "name": "Orders",
    "description": "All orders.",
    "goal_type": "revenue",
    "config": {"event_name": "purchase", "direction": "increase", "min_cents": 1},
}
WEBHOOK = {
    "url": "https://shop.example/hooks",
    "description": "Our chat",
    "events": ["experiment.decision"],
    "enabled": True,
}
CHANNEL = {
    "kind": "slack",
    "url": "https://hooks.slack.example/services/1",
    "description": "Our chat",
    "events": ["decision_ready"],
    "digest_hour": 8,
    "enabled": True,
}
RUN = {
    "kind": "rebuild",
    "days": {"from": "2026-03-01", "to": "2026-03-02"},
    "run_key": "night",
    "trigger": "api",
}
IMPORT = {"source": "described"}
QUESTION = {
    "baseline_rate": 5,
    "effect": 10,
    "daily_visitors": 2000,
    "confidence_level": 95,
    "power": 80,
    "variants": 3,
    "method": "always_valid",
    "looks": 10,
    "correlation": 0.5,
}
TRACK = {"batch": [{"event_id": "e", "type": "pageview", "visitor_id": "v", "attributes": {"a": "b"}}]}
CONVERT = {"event_id": "e", "visitor_id": "v", "event_name": "purchase", "revenue_cents": 100}
VISIT = {"visitor_id": "v", "url": "https://shop.example", "attributes": {"country": "DE"}, "assignments": {}}
GOAL = {"name": "Orders", "goal_type": "custom_event", "config": {"event_name": "order"}}
HOLDOUT = {
    "name": "Spring",
    "percent": 5,
    "group_id": None,
    "from": "2999-01-01T00:00:00Z",
    "to": None,
    "goals": [GOAL],
}
# Every operation that takes a body, with one that it takes.
WRITES: dict[str, tuple[str, str, Any]] = {
    "create_project": ("POST", "/projects", SHOP),
    "update_project": ("PATCH", "{project}", SHOP),
    "create_experiment": ("POST", "{project}/experiments", WHOLE),
    "update_experiment": ("PATCH", "{experiment}", WHOLE),
    "ship_experiment": ("POST", "{started}/ship", {"decision": "inconclusive", "note": "Too few visitors."}),
    "request_review": ("POST", "{experiment}/review", {"purpose": "start", "note": "Checked."}),
    "approve_experiment": ("POST", "{reviewed}/approve", {"purpose": "start", "note": "Fine."}),
    "withdraw_review": ("POST", "{reviewed}/review/withdraw", {"purpose": "start"}),
    "copy_experiment": ("POST", "{experiment}/copy", {"name": "Again"}),
    "create_share_link": ("POST", "{experiment}/share_links", {"days": 7, "shows_money": True}),
    "create_api_key": ("POST", "/account/api_keys", KEY),
    "create_member": ("POST", "/account/members", {**MEMBER, "email_address": "cy@acme.example"}),
    "update_member": ("PATCH", "{member}", MEMBER),
    "rotate_sdk_key": ("POST", "{project}/rotate_sdk_key", {"grace_period_hours": 24}),
    "create_metric": ("POST", "{project}/metrics", METRIC),
    "create_group": ("POST", "{project}/groups", {"name": "Checkout"}),
    "update_group": ("PATCH", "{group}", {"name": "Cart"}),
    "create_webhook": ("POST", "{project}/webhooks", WEBHOOK),
    "update_webhook": ("PATCH", "{webhook}", WEBHOOK),
    "create_notification_channel": ("POST", "{project}/notification_channels", CHANNEL),
    "update_notification_channel": ("PATCH", "{channel}", CHANNEL),
    "rotate_webhook_secret": ("POST", "{webhook}/rotate_secret", {"grace_period_hours": 24}),
    "update_metric": ("PATCH", "{metric}", {**METRIC, "name": "Purchases"}),
    "create_holdout": ("POST", "{spare}/holdouts", HOLDOUT),
    "update_holdout": ("PATCH", "{holdout}", {"name": "Summer", "to": None}),
    "start_run": ("POST", "{project}/runs", RUN),
    "start_import": ("POST", "{project}/imports", IMPORT),
    "compute_sample_size": ("POST", "/tools/sample_size", QUESTION),
    "track_events": ("POST", "/sdk/track?project_id={project_id}", TRACK),
    "track_conversions": ("POST", "/sdk/convert?project_id={project_id}", CONVERT),
    "assign_visitor": ("POST", "/sdk/init?project_id={project_id}", VISIT),
}

BODY_IS_OPTIONAL = ("copy_experiment", "create_share_link", "rotate_sdk_key", "rotate_webhook_secret")
# One operation of each reader of bodies: of JSON, of JSON or nothing, of events and of visits.
READERS = ("create_project", "rotate_sdk_key", "track_events", "assign_visitor")
# Of events, what can be made out is stored: a page that is left cannot be asked again.
LENIENT = ("track_events", "track_conversions", "assign_visitor")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([-1, 0, 1, 2**31, 2**63, 2**64, 10**30, 10**400, 5e-324, 1.7976931348623157e308])
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.sampled_from(
        ["", " ", "\0", "\u202e", "a" * 10_000, "https://", "javascript:x", "(a+)+$", "2026-13-99"]
    )
    | st.sampled_from(["control", "and", "in", "visual", "regex", "9999-12-31T23:59:59-23:59", "id", "-inf"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def send(customer: Customer, places: dict[str, str], operation: str, text: bytes) -> httpx2.Response:
    method, path, _ = WRITES[operation]
    headers = {"Content-Type": "application/json"}
    return customer.call(method, path.format_map(places), content=text, headers=headers)


def require_sound(answer: httpx2.Response) -> None:
    """It is a success, or an error in the envelope that says what is wrong with the request."""
    assert 200 <= answer.status_code < 500, answer.text
    if answer.status_code < 300:
        assert next(iter(answer.json())) in {"data", "accepted", "visitor_id"}
        return
    error = error_of(answer, answer.status_code, answer.json()["error"]["code"])
    if error["code"] == "validation_error":
        assert error["details"]
        for detail in error["details"]:
            assert detail["field"]
            assert detail["message"]


def paths_in(value: Any) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, itself first."""
    inner: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [(), *((step, *rest) for step, below in inner for rest in paths_in(below))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """The value with another in one place."""
    if not path:
        return by
    changed = deepcopy(value)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = by
    return changed


@pytest.mark.parametrize("operation", WRITES)
def test_body_of_the_list_is_taken(unlimited: Customer, places: dict[str, str], operation: str) -> None:
    answer = send(unlimited, places, operation, json.dumps(WRITES[operation][2]).encode())
    assert answer.status_code in {200, 201, 202}, answer.text


def test_list_holds_every_operation_with_a_body(unlimited: Customer) -> None:
    document = unlimited.client.get("/openapi.json").json()
    operations = [one for methods in document["paths"].values() for one in methods.values()]
    bodies = {one["operationId"]: one["requestBody"]["content"] for one in operations if "requestBody" in one}
    assert {name for name, content in bodies.items() if "application/json" in content} == set(WRITES)


# What stands in one place of a sound body may also be all of it, so that others are given any JSON below.
@pytest.mark.parametrize("operation", READERS)
@examples(6, 60)
@given(data=st.data())
def test_any_json_is_taken_or_refused_with_reasons(
    unlimited: Customer, places: dict[str, str], operation: str, data: st.DataObject
) -> None:
    body = data.draw(VALUES)
    require_sound(send(unlimited, places, operation, json.dumps(body).encode()))


@pytest.mark.parametrize("operation", WRITES)
@examples(8, 80)
@given(data=st.data())
def test_sound_body_with_anything_in_one_place_is_taken_or_refused_with_reasons(
    unlimited: Customer, places: dict[str, str], operation: str, data: st.DataObject
) -> None:
    sound = WRITES[operation][2]
    path = data.draw(st.sampled_from(paths_in(sound)))
    body = replaced(sound, path, data.draw(VALUES))
    require_sound(send(unlimited, places, operation, json.dumps(body).encode()))


@pytest.mark.parametrize("operation", READERS)
@examples(5, 40)
@given(text=st.binary() | TEXTS.map(str.encode))
def test_any_bytes_are_refused_with_reasons(
    unlimited: Customer, places: dict[str, str], operation: str, text: bytes
) -> None:
    require_sound(send(unlimited, places, operation, text))


DEEP = b"[" * 90 + b"]" * 90
HOSTILE = {
    "100,000 open brackets": b"[" * 100_000,
    "100,000 brackets": b"[" * 100_000 + b"]" * 100_000,
    "a deep member": b'{"name":' + b'{"a":' * 500 + b"1" + b"}" * 501,
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "Latin-1": '{"name": "Lä"}'.encode("latin-1"),
    "half of a surrogate pair": b'{"name": "\\ud83d", "visitor_id": "\\ud83d", "batch": "\\ud83d"}',
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"traffic_allocation": -Infinity}',
    "1e999": b'{"traffic_allocation": 1e999}',
    "a number of 5,000 digits": b'{"name": ' + b"9" * 5_000 + b"}",
    "no body": b"",
    "two bodies": b"{}{}",
}


def every_operation_and_all_at_each_reader(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Pair every operation with the first text, and those of READERS with all of them."""
    first, *others = texts
    return [*((one, first) for one in WRITES), *product(READERS, others)]


@pytest.mark.parametrize(("operation", "what"), every_operation_and_all_at_each_reader(HOSTILE))
def test_text_that_is_no_json_is_refused(
    unlimited: Customer, places: dict[str, str], operation: str, what: str
) -> None:
    answer = send(unlimited, places, operation, HOSTILE[what])
    if not HOSTILE[what] and operation in BODY_IS_OPTIONAL:
        assert answer.status_code == 200
    elif operation not in LENIENT:
        error_of(answer, 400, "invalid_json")
    else:
        require_sound(answer)


@pytest.mark.parametrize("operation", ["create_project", "update_experiment", "create_api_key"])
def test_name_that_stands_twice_in_one_object_is_pointed_out(
    unlimited: Customer, places: dict[str, str], operation: str
) -> None:
    error = error_of(send(unlimited, places, operation, b'{"name": "A", "name": "B"}'), 400, "invalid_json")
    assert "'name' more than once" in error["message"]


@pytest.mark.parametrize("place", [path for path in paths_in(WHOLE) if path])
def test_deep_value_anywhere_is_refused_with_its_path(
    unlimited: Customer, places: dict[str, str], place: tuple[Any, ...]
) -> None:
    body = json.dumps(replaced(WHOLE, place, "HERE")).encode().replace(b'"HERE"', DEEP)
    error = error_of(send(unlimited, places, "create_experiment", body), 422, "validation_error")
    assert any(detail["field"].startswith(str(place[0])) for detail in error["details"])


@pytest.mark.parametrize(
    ("operation", "media_type"),
    every_operation_and_all_at_each_reader(
        ["text/html", "application/xml", "image/png", "application/jsonx", "/"]
    ),
)
def test_body_of_another_type_is_refused(
    unlimited: Customer, places: dict[str, str], operation: str, media_type: str
) -> None:
    method, path, _ = WRITES[operation]
    answer = unlimited.call(
        method, path.format_map(places), content=b"{}", headers={"Content-Type": media_type}
    )
    error_of(answer, 415, "unsupported_media_type")


def test_compressed_body_is_refused_where_it_is_not_expected(unlimited: Customer) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = unlimited.call("POST", "/projects", content=b"\x1f\x8b", headers=headers)
    error_of(answer, 415, "unsupported_media_type")
