"""Configuration over HTTP: who gets it, what caches may do with it, and when it changes."""

import gzip
from typing import Any

import brotli
import httpx2
import pytest

from tests.api.customers import Customer
from tests.api.request_bodies import error_of
from tests.api.shops import Shop

CONFIG = "/api/v1/sdk/config"
IN_GERMANY = {
    "version": 2,
    "root": {"operator": "and", "children": [{"field": "country", "operator": "in", "values": ["DE"]}]},
}


def config_of(shop: Shop, method: str = "GET", **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"X-SDK-Key": shop.sdk_key, "Accept-Encoding": "identity", **named}
    return shop.customer.client.request(method, CONFIG, headers=sent)


def config_of_server(customer: Customer, project_id: str | None) -> httpx2.Response:
    query = {} if project_id is None else {"project_id": project_id}
    return customer.get("/sdk/config", **query)


def a_targeted(shop: Shop, rules: dict[str, Any]) -> None:
    path = f"/projects/{shop.project_id}"
    experiment = shop.customer.an_experiment(path, name="Targeted", targeting_rules=rules)
    assert shop.customer.post(f"{experiment}/start").status_code == 200


def test_a_public_key_gets_the_running_experiments_for_every_cache(shop: Shop) -> None:
    answer = config_of(shop)
    assert answer.status_code == 200, answer.text
    assert [one["id"] for one in answer.json()["experiments"]] == [shop.experiment["id"]]
    assert answer.json()["sdk_key"] == shop.sdk_key
    assert answer.json()["facts"] is None
    assert "definition" not in answer.text
    assert answer.headers["cache-control"] == "public, max-age=60, stale-while-revalidate=60"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "ETag" in answer.headers["access-control-expose-headers"]
    # A cache may not give the answer of a key that was sent as a header to another one.
    assert "X-SDK-Key" in answer.headers["vary"]
    assert answer.headers["ratelimit-limit"]


def test_the_key_may_be_in_the_query(shop: Shop) -> None:
    answer = shop.customer.client.get(CONFIG, params={"key": shop.sdk_key})
    assert answer.json()["project_id"] == shop.project_id


def test_a_tag_is_answered_304_until_an_experiment_changes(shop: Shop) -> None:
    first = config_of(shop)
    again = config_of(shop, If_None_Match=first.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == first.headers["cache-control"]
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}"
    assert shop.customer.post(f"{path}/pause").status_code == 200
    changed = config_of(shop, If_None_Match=first.headers["etag"])
    assert changed.status_code == 200
    assert changed.json()["experiments"][0]["status"] == "paused"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip", "gzip"), ("gzip, deflate, br", "br"), ("br;q=0, gzip", "gzip"), ("identity", None)],
)
def test_the_answer_is_compressed_as_the_client_can_read(
    shop: Shop, accepted: str, coding: str | None
) -> None:
    plain = config_of(shop).content
    headers = {"X-SDK-Key": shop.sdk_key, "Accept-Encoding": accepted}
    with shop.customer.client.stream("GET", CONFIG, headers=headers) as answer:
        content = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == coding
    assert {"gzip": gzip.decompress, "br": brotli.decompress}.get(coding or "", bytes)(content) == plain


def test_head_tells_the_length_and_has_no_body(shop: Shop) -> None:
    whole, head = config_of(shop), config_of(shop, "HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))
    assert head.headers["etag"] == whole.headers["etag"]


def test_facts_of_the_request_are_told_where_they_decide_and_kept_by_no_shared_cache(shop: Shop) -> None:
    a_targeted(shop, IN_GERMANY)
    here, there = (config_of(shop, CF_IPCountry=country) for country in ("DE", "FR"))
    assert here.headers["cache-control"] == "private, max-age=60"
    assert [answer.json()["facts"]["country"] for answer in (here, there)] == ["DE", "FR"]
    assert here.headers["etag"] != there.headers["etag"]


def test_a_server_gets_the_experiments_as_they_are_stored(shop: Shop) -> None:
    answer = config_of_server(shop.customer.with_key("sdk:write"), shop.project_id)
    (experiment,) = answer.json()["experiments"]
    assert experiment["definition"]["name"] == shop.experiment["name"]
    assert answer.headers["cache-control"] == "private, max-age=60"


def test_a_server_needs_the_scope_and_the_project(shop: Shop, stranger: Customer) -> None:
    error_of(config_of_server(shop.customer.with_key("projects:read"), shop.project_id), 403, "forbidden")
    error_of(config_of_server(shop.customer, None), 422, "validation_error")
    error_of(config_of_server(stranger, shop.project_id), 404, "not_found")


def test_no_key_gets_nothing(shop: Shop) -> None:
    error_of(shop.customer.client.get(CONFIG), 401, "invalid_api_key")
    error_of(config_of(shop, X_SDK_Key="pk_unknown"), 401, "invalid_api_key")


def test_a_replaced_key_works_within_its_grace_and_is_told_itself(shop: Shop) -> None:
    rotated = shop.customer.post(f"/projects/{shop.project_id}/rotate_sdk_key").json()["data"]
    assert rotated["api_key"] != shop.sdk_key
    assert config_of(shop).json()["sdk_key"] == shop.sdk_key
    shop.customer.post(f"/projects/{shop.project_id}/expire_sdk_keys")
    error_of(config_of(shop), 401, "invalid_api_key")


def test_a_call_from_the_projects_own_page_verifies_the_snippet(shop: Shop) -> None:
    def is_verified() -> bool:
        return bool(shop.customer.data_of(f"/projects/{shop.project_id}")["snippet_verified"])

    config_of(shop, Origin="https://elsewhere.example")
    assert not is_verified()
    config_of(shop, Referer="https://shop.example/cart")
    assert is_verified()
