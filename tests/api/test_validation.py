import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from api.app import create_app
from pipeline.settings import Settings
from tests.api.bodies import CONTROL, PURCHASE, an_experiment_body, error_of
from tests.api.customers import Customer, a_customer_of

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
)
KEY = {"name": "CI", "environment": "live", "scopes": ["projects:read"], "project_ids": []}
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
# Every operation that takes a body, with one that it takes.
WRITES: dict[str, tuple[str, str, Any]] = {
    "create_project": ("POST", "/projects", SHOP),
    "update_project": ("PATCH", "{project}", SHOP),
    "create_experiment": ("POST", "{project}/experiments", WHOLE),
    "update_experiment": ("PATCH", "{experiment}", WHOLE),
    "create_api_key": ("POST", "/account/api_keys", KEY),
    "compute_sample_size": ("POST", "/tools/sample_size", QUESTION),
    "track_events": ("POST", "/sdk/track?project_id={project_id}", TRACK),
    "track_conversions": ("POST", "/sdk/convert?project_id={project_id}", CONVERT),
    "assign_visitor": ("POST", "/sdk/init?project_id={project_id}", VISIT),
}

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


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    """Somebody who may ask as often as a property test does, of a service of its own."""
    folder = tmp_path_factory.mktemp("store")
    with TestClient(create_app(Settings(data_dir=folder)), raise_server_exceptions=False) as client:
        customer = a_customer_of(client)
        customer.parts.catalog.accounts.update(customer.account.id, rate_limit=10**6, max_projects=10**6)
        yield customer


@pytest.fixture(scope="module")
def places(unlimited: Customer) -> dict[str, str]:
    project = unlimited.a_project()
    experiment = unlimited.an_experiment(project)
    return {"project": project, "experiment": experiment, "project_id": project.rpartition("/")[2]}


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
    assert answer.status_code in {200, 201}, answer.text


def test_list_holds_every_operation_with_a_body(unlimited: Customer) -> None:
    document = unlimited.client.get("/openapi.json").json()
    operations = [one for methods in document["paths"].values() for one in methods.values()]
    assert {one["operationId"] for one in operations if "requestBody" in one} == set(WRITES)


@pytest.mark.parametrize("operation", WRITES)
@settings(max_examples=60)
@given(data=st.data())
def test_any_json_is_taken_or_refused_with_reasons(
    unlimited: Customer, places: dict[str, str], operation: str, data: st.DataObject
) -> None:
    body = data.draw(VALUES)
    require_sound(send(unlimited, places, operation, json.dumps(body).encode()))


@pytest.mark.parametrize("operation", WRITES)
@settings(max_examples=150)
@given(data=st.data())
def test_sound_body_with_anything_in_one_place_is_taken_or_refused_with_reasons(
    unlimited: Customer, places: dict[str, str], operation: str, data: st.DataObject
) -> None:
    sound = WRITES[operation][2]
    path = data.draw(st.sampled_from(paths_in(sound)))
    body = replaced(sound, path, data.draw(VALUES))
    require_sound(send(unlimited, places, operation, json.dumps(body).encode()))


@pytest.mark.parametrize("operation", WRITES)
@settings(max_examples=40)
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


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("operation", WRITES)
def test_text_that_is_no_json_is_refused(
    unlimited: Customer, places: dict[str, str], operation: str, what: str
) -> None:
    answer = send(unlimited, places, operation, HOSTILE[what])
    if operation not in LENIENT:
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
    "media_type", ["text/html", "application/xml", "image/png", "application/jsonx", "/"]
)
@pytest.mark.parametrize("operation", WRITES)
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


def problems(customer: Customer, places: dict[str, str], **fields: Any) -> dict[str, str]:
    """Field → message of what is wrong with an experiment."""
    answer = customer.post(f"{places['project']}/experiments", an_experiment_body(**fields))
    error = error_of(answer, 422, "validation_error")
    return {detail["field"]: detail["message"] for detail in error["details"]}


def named(count: int) -> list[dict[str, Any]]:
    return [{**CONTROL, "name": f"Variant {index}", "is_control": index == 0} for index in range(count)]


def nested(levels: int) -> dict[str, Any]:
    group: dict[str, Any] = {"operator": "and", "children": []}
    for _ in range(levels - 1):
        group = {"operator": "not", "children": [group]}
    return {"version": 2, "root": group}


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"name": ""}, "name", "blank"),
        ({"name": "a\0b"}, "name", "U+0000"),
        ({"name": "a\x1bb"}, "name", "U+001B"),
        ({"name": "x" * 10_000}, "name", "at most"),
        ({"name": 10**400}, "name", "must be text"),
        ({"traffic_allocation": 10**400}, "traffic_allocation", "from 0 to 100"),
        ({"traffic_allocation": 50.5}, "traffic_allocation", "whole number"),
        ({"traffic_allocation": True}, "traffic_allocation", "whole number"),
        ({"confidence_level": 100}, "confidence_level", "from 50 to 99"),
        ({"variants": named(21)}, "variants", "at most 20"),
        ({"variants": [CONTROL, CONTROL]}, "variants[1].name", "twice"),
        ({"variants": [{**CONTROL, "weight": -1}]}, "variants[0].weight", "number from 0"),
        ({"variants": [{**CONTROL, "weight": 10**400}]}, "variants[0].weight", "number from 0"),
        ({"variants": [{**CONTROL, "weight": 0}]}, "variants", "positive weight"),
        ({"variants": [{**CONTROL, "changes": [{}]}]}, "variants[0].changes[0].action", ""),
        ({"goals": [PURCHASE, PURCHASE]}, "goals", "mark one"),
        ({"goals": [{**PURCHASE, "config": {}}]}, "goals[0].config.event_name", "required"),
        ({"url": "javascript:alert(1)", "type": "redirect"}, "url", "http"),
        ({"url": "https://shop.example/" + "x" * 2_048}, "url", "at most 2,048"),
        ({"url_match_type": "regex", "url": "("}, "url", "regular expression"),
        ({"url_match_type": "regex", "url": "x" * 501}, "url", "at most 500"),
        ({"targeting_rules": nested(6)}, "targeting_rules", "5"),
        ({"scheduled_start_at": "tomorrow"}, "scheduled_start_at", "ISO 8601"),
        ({"scheduled_start_at": "2030-01-01T00:00:00"}, "scheduled_start_at", "time zone"),
        ({"nmae": "x"}, "nmae", "name"),
    ],
)
def test_problem_is_named_with_its_path_and_what_to_do(
    unlimited: Customer, places: dict[str, str], fields: dict[str, Any], path: str, words: str
) -> None:
    found = problems(unlimited, places, **fields)
    (field,) = [field for field in found if field.startswith(path)][:1]
    assert words in found[field]


def test_every_problem_is_named_at_once(unlimited: Customer, places: dict[str, str]) -> None:
    found = problems(
        unlimited,
        places,
        name="\0",
        traffic_allocation=101,
        variants=[{"name": "A", "weight": -1}, {"name": "A", "weight": 1, "is_control": "yes"}, 5],
        goals=[{"name": "G", "goal_type": "click", "config": {"selector": "", "colour": "red"}}],
        url_rules=[{"type": "include", "match_type": "regex", "value": "("}],
        stop_conditions={"visitor_limit": 0},
        assigned_user_ids=["mem_nobody"],
        colour="red",
    )
    assert {
        "name",
        "traffic_allocation",
        "variants[0].weight",
        "variants[1].is_control",
        "variants[2]",
        "goals[0].config.selector",
        "goals[0].config.colour",
        "url_rules[0].value",
        "stop_conditions.visitor_limit",
        "assigned_user_ids[0]",
        "colour",
    } <= set(found)


def test_answer_stays_small_however_much_is_wrong(unlimited: Customer, places: dict[str, str]) -> None:
    body = {f"field {number}": "x" * 50 for number in range(10_000)}
    answer = send(unlimited, places, "create_experiment", json.dumps(body).encode())
    error_of(answer, 422, "validation_error")
    assert len(answer.content) < 10_000


def test_catastrophic_pattern_costs_nothing(unlimited: Customer, places: dict[str, str]) -> None:
    slow = "(a+)+$"
    created = unlimited.post(
        f"{places['project']}/experiments",
        an_experiment_body(name="Slow", url=slow, url_match_type="regex"),
    )
    path = f"{places['project']}/experiments/{created.json()['data']['id']}"
    assert unlimited.post(f"{path}/start").status_code == 200
    visit = {"visitor_id": "v", "url": "https://shop.example/" + "a" * 2_000 + "!"}
    answer = send(unlimited, places, "assign_visitor", json.dumps(visit).encode())
    assert answer.status_code == 200
    assert answer.elapsed.total_seconds() < 2


@pytest.mark.parametrize(
    "path", ["/projects/%00", "/projects/%ff", "/projects/" + "x" * 5_000, "/projects/%F0%9F%92%A9"]
)
def test_id_of_any_characters_is_just_unknown(unlimited: Customer, path: str) -> None:
    error_of(unlimited.get(path), 404, "not_found")
