import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from tests.api.customers import Customer
from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"
CONVERT = "/api/v1/sdk/convert"


@pytest.fixture
def shop(customer: Customer, project: str, experiment: str) -> Shop:
    return Shop.opened_by(customer, project, experiment)


def test_an_acknowledged_event_is_stored(shop: Shop) -> None:
    answer = shop.post(TRACK, {"batch": [shop.exposure("a"), shop.exposure("b")]})
    assert answer.status_code == 200
    assert answer.json() == {
        "accepted": 2,
        "rejected": 0,
        "results": [
            {"event_id": "a", "status": "ok", "code": None, "message": None},
            {"event_id": "b", "status": "ok", "code": None, "message": None},
        ],
    }
    assert shop.stored() == ["a", "b"]


def test_a_bad_event_is_rejected_and_the_rest_stored(shop: Shop) -> None:
    answer = shop.post(
        TRACK, {"batch": [shop.exposure("a"), shop.exposure("b", visitor_id="undefined")]}
    ).json()
    assert (answer["accepted"], answer["rejected"]) == (1, 1)
    assert answer["results"][1]["code"] == "invalid_visitor_id"
    assert shop.stored() == ["a"]


def test_conversions_come_alone_or_in_a_batch(shop: Shop) -> None:
    goal = shop.experiment["goals"][0]["id"]
    order = {"event_id": "a", "visitor_id": "v1", "goal_id": goal, "revenue_cents": 1999}
    assert shop.post(CONVERT, order).json()["accepted"] == 1
    assert shop.post(CONVERT, {"batch": [{**order, "event_id": "b"}]}).json()["accepted"] == 1
    assert shop.stored("event_id, type, revenue_cents") == [
        ("a", "conversion", 1999),
        ("b", "conversion", 1999),
    ]


def test_a_server_names_the_project_in_the_body_or_the_query(shop: Shop) -> None:
    server = shop.customer.with_key("sdk:write")
    body = {"batch": [shop.exposure("a")], "project_id": shop.project_id}
    assert server.call("POST", "/sdk/track", json=body).json()["accepted"] == 1
    query = {"project_id": shop.project_id}
    answer = server.call("POST", "/sdk/track", json={"batch": [shop.exposure("b")]}, params=query)
    assert answer.json()["accepted"] == 1
    assert shop.stored() == ["a", "b"]


def test_a_servers_own_user_agent_makes_no_visitor_a_bot(shop: Shop) -> None:
    body = {"batch": [shop.exposure("a")], "project_id": shop.project_id}
    shop.customer.call("POST", "/sdk/track", json=body, headers={"User-Agent": "python-requests/2"})
    shop.post(TRACK, {"batch": [shop.exposure("b")]}, User_Agent="Googlebot/2.1")
    assert shop.stored("is_bot") == [False, True]


def test_text_plain_is_taken_as_json(shop: Shop) -> None:
    answer = shop.post(TRACK, {"batch": [shop.exposure()]}, Content_Type="text/plain;charset=UTF-8")
    assert answer.json()["accepted"] == 1


def test_the_public_key_may_stand_in_the_query(shop: Shop) -> None:
    body = {"batch": [shop.exposure()]}
    answer = shop.customer.client.post(f"{TRACK}?key={shop.sdk_key}", json=body)
    assert answer.json()["accepted"] == 1


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-zlib.MAX_WBITS)),
    ],
)
def test_a_body_may_be_compressed(shop: Shop, encoding: str, compress: Callable[[bytes], bytes]) -> None:
    body = compress(json.dumps({"batch": [shop.exposure()]}).encode())
    assert shop.post(TRACK, body, Content_Encoding=encoding).json()["accepted"] == 1


# Each way a whole request is refused: the body, headers, and the status and code of the answer.
REFUSED: list[tuple[bytes, dict[str, str], int, str]] = [
    (b"{", {}, 400, "invalid_json"),
    (b"[]", {}, 400, "invalid_json"),
    (b"", {}, 400, "invalid_json"),
    (b'{"batch":' + b"[" * 10_000, {}, 400, "invalid_json"),
    (b"not gzip", {"Content_Encoding": "gzip"}, 400, "invalid_json"),
    (gzip.compress(b'{"batch":[]}', mtime=0)[:-4], {"Content_Encoding": "gzip"}, 400, "invalid_json"),
    (b"{}", {"Content_Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
    (b"{}", {"Content_Encoding": "br"}, 415, "unsupported_media_type"),
    (b"{}", {}, 422, "validation_error"),
    (b'{"batch":5}', {}, 422, "validation_error"),
    (b'{"batch":[],"sent_at":"noon"}', {}, 422, "validation_error"),
    (json.dumps({"batch": [{}] * 501}).encode(), {}, 413, "payload_too_large"),
    (b'{"batch":[]}' + b" " * 2**20, {}, 413, "payload_too_large"),
    (
        gzip.compress(b'{"batch":[]}' + b" " * 10 * 2**20, mtime=0),
        {"Content_Encoding": "gzip"},
        413,
        "payload_too_large",
    ),
    (gzip.compress(b"\0" * 40 * 2**20, 1, mtime=0), {"Content_Encoding": "gzip"}, 413, "payload_too_large"),
]


@pytest.mark.parametrize(("body", "headers", "status", "code"), REFUSED)
def test_a_body_that_cannot_be_read_is_refused(
    shop: Shop, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    answer = shop.post(TRACK, body, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert shop.stored_count() == 0


def test_a_body_of_a_mebibyte_and_ten_decompressed_pass(shop: Shop) -> None:
    body = json.dumps({"batch": [shop.exposure()]}).encode()
    assert shop.post(TRACK, body.ljust(2**20)).status_code == 200
    assert shop.post(TRACK, gzip.compress(body.ljust(10 * 2**20)), Content_Encoding="gzip").status_code == 200


def test_without_a_key_nothing_comes_in(shop: Shop) -> None:
    answer = shop.customer.client.post(TRACK, json={"batch": [shop.exposure()]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("headers", [{"X-SDK-Key": "pk_unknown"}, {"Authorization": "Bearer svc_live_x_y"}])
def test_an_unknown_key_is_refused(shop: Shop, headers: dict[str, str]) -> None:
    answer = shop.customer.client.post(TRACK, json={"batch": []}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_a_server_key_needs_the_scope(shop: Shop) -> None:
    server = shop.customer.with_key("experiments:read")
    answer = server.call("POST", "/sdk/track", json={"batch": [], "project_id": shop.project_id})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


def test_a_server_key_must_say_which_project(shop: Shop) -> None:
    answer = shop.customer.call("POST", "/sdk/track", json={"batch": []})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["field"] == "project_id"


def test_a_project_that_the_key_does_not_reach_does_not_exist(shop: Shop, stranger: Customer) -> None:
    body = {"batch": [], "project_id": shop.project_id}
    other = shop.customer.a_project().rpartition("/")[2]
    restricted = shop.customer.with_key("sdk:write", project_ids=(other,))
    for caller in (stranger, restricted):
        answer = caller.call("POST", "/sdk/track", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_revoked_key_stops_at_once(shop: Shop) -> None:
    server = shop.customer.with_key("sdk:write")
    body = {"batch": [], "project_id": shop.project_id}
    assert server.call("POST", "/sdk/track", json=body).status_code == 200
    keys = shop.customer.services.catalog.keys
    newest = keys.of_account(shop.customer.account.id)[0]
    keys.revoke(shop.customer.account.id, newest.id, now=newest.created_at)
    assert server.call("POST", "/sdk/track", json=body).status_code == 401


def test_an_experiment_made_a_moment_ago_is_known(shop: Shop) -> None:
    shop.post(TRACK, {"batch": [shop.exposure()]})
    path = shop.customer.an_experiment(f"/projects/{shop.project_id}", name="Another")
    newer = shop.customer.get(path).json()["data"]
    event = shop.exposure("b", experiment_id=newer["id"], variant_id=newer["variants"][0]["id"])
    assert shop.post(TRACK, {"batch": [event]}).json()["accepted"] == 1


def test_what_comes_from_an_excluded_address_is_not_kept(shop: Shop) -> None:
    settings = {"settings": {"excluded_ips": ["192.0.2.0/24"]}}
    shop.customer.patch(f"/projects/{shop.project_id}", settings)
    live = shop.customer.services.project_cache.with_id(shop.project_id)
    assert live.excludes("192.0.2.7")
    assert not live.excludes("198.51.100.1")
    assert not live.excludes("testclient")


def test_a_preflight_is_answered_for_any_origin(shop: Shop) -> None:
    headers = {"Origin": "https://anywhere.example", "Access-Control-Request-Method": "POST"}
    answer = shop.customer.client.options(TRACK, headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "x-sdk-key" in answer.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in answer.headers
    assert answer.headers["x-request-id"]


def test_a_page_may_read_errors_too(shop: Shop) -> None:
    answer = shop.customer.client.post(TRACK, json={}, headers={"Origin": "https://anywhere.example"})
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == "*"


def test_other_endpoints_are_closed_to_pages(shop: Shop) -> None:
    answer = shop.customer.call("GET", "/projects", headers={"Origin": "https://anywhere.example"})
    assert "access-control-allow-origin" not in answer.headers
