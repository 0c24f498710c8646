"""OFREP: the official provider, the protocol's errors, and both kinds of keys."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.api.customers import Customer
from tests.api.request_bodies import fields_of

PATH = "/ofrep/v1/evaluate/flags"
PAGE = "https://shop.example"


@pytest.fixture
def sdk_key(customer: Customer, project: str) -> str:
    key: str = customer.data_of(f"{project}/installation")["api_key"]
    return key


@pytest.fixture
def test_key(customer: Customer, experiment: str) -> str:
    key: str = customer.post(f"{experiment}/start").json()["data"]["test_key"]
    return key


def evaluate(
    customer: Customer, path: str, context: object, headers: dict[str, str] | None = None
) -> httpx2.Response:
    return customer.client.post(f"{PATH}{path}", json={"context": context}, headers=headers)


def test_a_flag_is_what_init_decides(customer: Customer, sdk_key: str, test_key: str) -> None:
    names = set()
    for number in range(20):
        visitor_id = f"visitor-{number}"
        asked = customer.client.post(
            f"/api/v1/sdk/init?key={sdk_key}", json={"visitor_id": visitor_id}
        ).json()
        assigned = asked["assignments"][0]
        answer = evaluate(customer, f"/{test_key}", {"targetingKey": visitor_id}, {"X-API-Key": sdk_key})
        assert answer.status_code == 200
        assert answer.json() == {
            "key": test_key,
            "value": assigned["variant_name"] == "Treatment",
            "reason": "SPLIT",
            "variant": assigned["variant_name"],
            "metadata": {
                "experiment_id": assigned["experiment_id"],
                "variant_id": assigned["variant_id"],
            },
        }
        names.add(assigned["variant_name"])
    assert names == {"Control", "Treatment"}


def test_the_first_assignment_stays_and_counts_nobody(
    customer: Customer, experiment: str, sdk_key: str, test_key: str
) -> None:
    headers = {"X-API-Key": sdk_key}
    first = [
        evaluate(customer, f"/{test_key}", {"targetingKey": f"v{number}"}, headers).json()["variant"]
        for number in range(10)
    ]
    customer.post(f"{experiment}/pause")
    again = [
        evaluate(customer, f"/{test_key}", {"targetingKey": f"v{number}"}, headers).json()["variant"]
        for number in range(10)
    ]
    assert again == first
    new = evaluate(customer, f"/{test_key}", {"targetingKey": "new"}, headers).json()
    assert (new["value"], new["variant"], new["reason"]) == (False, "", "DEFAULT")
    (variants,) = customer.data_of(f"{experiment}/results")["variants"].values()
    assert [one["visitors"] for one in variants] == [0, 0]


@pytest.mark.parametrize(
    "header", [lambda key: {"X-API-Key": key}, lambda key: {"Authorization": f"Bearer {key}"}]
)
def test_public_and_secret_keys_evaluate(
    customer: Customer, project: str, sdk_key: str, test_key: str, header: Callable[[str], dict[str, str]]
) -> None:
    context = {"targetingKey": "v1"}
    public = evaluate(customer, f"/{test_key}", context, header(sdk_key))
    secret_key = customer.with_key("sdk:write").token
    named = {**header(secret_key), "X-Project-Id": project.rpartition("/")[2]}
    assert evaluate(customer, f"/{test_key}", context, named).json() == public.json()
    unnamed = evaluate(customer, f"/{test_key}", context, header(secret_key))
    assert unnamed.status_code == 422
    assert fields_of(unnamed.json()["error"]) == ["project_id"]


def test_keys_that_may_not_are_refused(customer: Customer, test_key: str) -> None:
    context = {"targetingKey": "v1"}
    other = customer.with_key("results:read").token
    for headers, status in (
        ({}, 401),
        ({"X-API-Key": "pk_unknown"}, 401),
        ({"X-API-Key": "tl_unknown"}, 401),
        ({"X-API-Key": other}, 403),
    ):
        answer = evaluate(customer, f"/{test_key}", context, headers)
        assert answer.status_code == status
        assert answer.json()["error"]["code"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "PARSE_ERROR"),
        (b"[]", "PARSE_ERROR"),
        (b'{"context": {"a": 1, "a": 2}}', "PARSE_ERROR"),
        (b"{}", "TARGETING_KEY_MISSING"),
        (b'{"context": {"targetingKey": ""}}', "TARGETING_KEY_MISSING"),
        (b'{"context": 3}', "INVALID_CONTEXT"),
        (b'{"context": {"targetingKey": 3}}', "INVALID_CONTEXT"),
        (b'{"context": {"targetingKey": "undefined"}}', "INVALID_CONTEXT"),
        (b'{"context": {"targetingKey": "v1", "url": 3}}', "INVALID_CONTEXT"),
        (b'{"context": {"targetingKey": "v1", "cart": {"items": 1}}}', "INVALID_CONTEXT"),
    ],
)
def test_errors_are_those_of_the_protocol(
    customer: Customer, sdk_key: str, test_key: str, content: bytes, code: str
) -> None:
    headers = {"X-API-Key": sdk_key, "Content-Type": "application/json"}
    for path, key in ((f"/{test_key}", {"key": test_key}), ("", {})):
        answer = customer.client.post(f"{PATH}{path}", content=content, headers=headers)
        body = answer.json()
        assert answer.status_code == 400
        assert {name: body[name] for name in key} == key
        assert body["errorCode"] == code
        assert body["errorDetails"] == body["error"]["message"]


def test_an_unknown_flag_is_not_found_and_a_draft_is_unknown(
    customer: Customer, project: str, sdk_key: str, experiment: str
) -> None:
    draft = customer.data_of(experiment)["test_key"]
    for key in ("unknown", draft):
        answer = evaluate(customer, f"/{key}", {"targetingKey": "v1"}, {"X-API-Key": sdk_key})
        assert answer.status_code == 404
        assert (answer.json()["key"], answer.json()["errorCode"]) == (key, "FLAG_NOT_FOUND")
    assert evaluate(customer, "", {"targetingKey": "v1"}, {"X-API-Key": sdk_key}).json() == {"flags": []}


def test_all_flags_have_a_tag_that_changes_with_them(
    customer: Customer, project: str, sdk_key: str, test_key: str
) -> None:
    headers = {"X-API-Key": sdk_key}
    first = evaluate(customer, "", {"targetingKey": "v1"}, headers)
    assert [flag["key"] for flag in first.json()["flags"]] == [test_key]
    tagged = {**headers, "If-None-Match": first.headers["etag"]}
    unchanged = evaluate(customer, "", {"targetingKey": "v1"}, tagged)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    second = customer.an_experiment(project, name="Second")
    customer.post(f"{second}/start")
    changed = evaluate(customer, "", {"targetingKey": "v1"}, tagged)
    assert len(changed.json()["flags"]) == 2


def test_targeting_and_pages_hold(customer: Customer, project: str, sdk_key: str) -> None:
    rules: dict[str, Any] = {
        "version": 2,
        "root": {
            "operator": "and",
            "children": [
                {"field": "custom_dimension", "key": "plan", "operator": "equals", "values": ["pro"]}
            ],
        },
    }
    path = customer.an_experiment(project, name="Pro", targeting_rules=rules, url=f"{PAGE}/plans")
    key = customer.post(f"{path}/start").json()["data"]["test_key"]
    headers = {"X-API-Key": sdk_key}
    for context, reason in (
        ({"plan": "pro"}, "SPLIT"),
        ({"plan": "pro", "url": f"{PAGE}/plans"}, "SPLIT"),
        ({"plan": "free"}, "DEFAULT"),
        ({"plan": "pro", "url": PAGE}, "DEFAULT"),
    ):
        visitor = {"targetingKey": f"{context}", **context}
        assert evaluate(customer, f"/{key}", visitor, headers).json()["reason"] == reason


def with_payloads(*payloads: object) -> dict[str, Any]:
    variants = [{"name": f"V{index}", "payload": payload} for index, payload in enumerate(payloads)]
    return {"public_variants": True, "variants": variants}


TYPED = {
    "empty-text": ("", "Buy"),
    "numbers": (0, 2),
    "prices": (9.5, 10),
    "switch": (False, True),
    "sizes": ({}, {"columns": [3]}),
    "steps": ([], ["a"]),
}


def test_a_flag_has_the_payload_of_the_variant_in_each_type(
    customer: Customer, project: str, sdk_key: str
) -> None:
    for name, payloads in TYPED.items():
        customer.post(f"{customer.an_experiment(project, name=name, **with_payloads(*payloads))}/start")
    headers = {"X-API-Key": sdk_key}
    seen: dict[str, set[str]] = {name: set() for name in TYPED}
    for number in range(12):
        context = {"targetingKey": f"visitor-{number}"}
        for flag in evaluate(customer, "", context, headers).json()["flags"]:
            assert evaluate(customer, f"/{flag['key']}", context, headers).json() == flag
            payload = TYPED[flag["key"]][int(flag["variant"][1:])]
            assert flag["value"] == payload
            # All numbers are floats where one has a fraction, for providers with static types.
            assert type(flag["value"]) is (float if flag["key"] == "prices" else type(payload))
            seen[flag["key"]].add(flag["variant"])
    assert all(variants == {"V0", "V1"} for variants in seen.values())


def test_a_flag_without_a_value_is_left_to_the_code(customer: Customer, project: str, sdk_key: str) -> None:
    path = customer.an_experiment(project, **with_payloads(None, "Buy"))
    key = customer.post(f"{path}/start").json()["data"]["test_key"]
    headers = {"X-API-Key": sdk_key}
    values = {}
    for number in range(12):
        flag = evaluate(customer, f"/{key}", {"targetingKey": f"v{number}"}, headers).json()
        values[flag["variant"]] = flag.get("value", "the code's")
        assert flag["reason"] == "SPLIT"
    assert values == {"V0": "the code's", "V1": "Buy"}
    customer.post(f"{path}/pause")
    excluded = evaluate(customer, f"/{key}", {"targetingKey": "new"}, headers).json()
    assert (excluded["variant"], excluded["reason"], "value" in excluded) == ("", "DEFAULT", False)


def test_a_visitor_keeps_the_variant_and_gets_its_new_payload(
    customer: Customer, project: str, sdk_key: str
) -> None:
    path = customer.an_experiment(project, **with_payloads("a", "b"))
    variants = customer.post(f"{path}/start").json()["data"]["variants"]
    headers = {"X-API-Key": sdk_key}
    first = evaluate(customer, "", {"targetingKey": "v1"}, headers)
    customer.post(f"{path}/pause")
    replaced = [{"id": one["id"], "payload": f"new {one['payload']}"} for one in variants]
    assert customer.patch(path, {"variants": replaced}).status_code == 200
    tagged = {**headers, "If-None-Match": first.headers["etag"]}
    second = evaluate(customer, "", {"targetingKey": "v1"}, tagged)
    (before,), (after,) = first.json()["flags"], second.json()["flags"]
    assert (after["variant"], after["value"]) == (before["variant"], f"new {before['value']}")
