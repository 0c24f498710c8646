"""Access to the SDK endpoints: public keys of browsers and API keys of servers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.customers import Customer
from tests.api.sdk.recorded_requests import BROWSER, RecordedRequest, an_event
from tests.api.sdk.recording import a_service, the_app
from tests.api.shops import Shop
from tests.pipeline.events.request_headers.location_files import IN_FRANCE, IN_MUNICH, write_location_file

TRACK = "/api/v1/sdk/track"
INIT = "/api/v1/sdk/init"
CONFIG = "/api/v1/sdk/config"


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


def test_the_public_key_may_stand_in_the_query(shop: Shop) -> None:
    body = {"batch": [shop.exposure()]}
    answer = shop.customer.client.post(f"{TRACK}?key={shop.sdk_key}", json=body)
    assert answer.json()["accepted"] == 1


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


@pytest.mark.parametrize("path", ["/sdk/track", "/sdk/convert", "/sdk/init"])
def test_a_project_is_looked_for_before_the_body_is_judged(shop: Shop, path: str) -> None:
    server = shop.customer.with_key("sdk:write")
    # A body that names the project has to be JSON first.
    for content, status in ((b"{", 400), (b"[]", 400), (b'{"project_id": "prj_x"', 400)):
        assert server.call("POST", path, content=content).status_code == status
    wrong: dict[str, Any] = {"batch": "none", "visitor_id": 7, "sent_at": "never"}
    for project, status in (("prj_x", 404), (shop.project_id, 422), (5, 422), (None, 422)):
        answer = server.call("POST", path, json={**wrong, "project_id": project})
        assert answer.status_code == status, (project, answer.text)
    unknown = {"params": {"project_id": "prj_x"}}
    for content in (b"{", b'{"batch": "none"}'):
        assert server.call("POST", path, content=content, **unknown).status_code == 404
    known = {"params": {"project_id": shop.project_id}}
    assert server.call("POST", path, content=b"{", **known).status_code == 400
    assert server.call("POST", path, json=wrong, **known).status_code == 422


def test_refusals_of_a_server_report_a_limit_of_their_own(shop: Shop) -> None:
    """Of a scope, a project or a body: neither the projects' limits nor the account's are used up."""
    track, of_project = "/sdk/track", {"batch": [], "project_id": shop.project_id}
    reader = shop.customer.with_key("experiments:read")
    server = shop.customer.with_key("sdk:write")
    before = server.call("POST", track, json=of_project).headers["ratelimit-remaining"]
    refused = [
        reader.call("POST", track, json=of_project),
        server.call("POST", track, json={"batch": [], "project_id": "prj_other"}),
        server.call("POST", track, json={"batch": []}),
        server.call("POST", track, content=b"{"),
    ]
    assert [answer.status_code for answer in refused] == [403, 404, 422, 400]
    remaining = [int(answer.headers["ratelimit-remaining"]) for answer in refused]
    assert remaining == [remaining[0] - number for number in range(4)]
    assert refused[0].headers["ratelimit-limit"] == str(remaining[0] + 1)
    after = server.call("POST", track, json=of_project).headers["ratelimit-remaining"]
    assert int(after) == int(before) - 1


def test_a_revoked_key_stops_at_once(shop: Shop) -> None:
    server = shop.customer.with_key("sdk:write")
    body = {"batch": [], "project_id": shop.project_id}
    assert server.call("POST", "/sdk/track", json=body).status_code == 200
    keys = shop.customer.services.catalog.keys
    newest = keys.of_account(shop.customer.account.id)[0]
    keys.revoke(shop.customer.account.id, newest.id, now=newest.created_at)
    assert server.call("POST", "/sdk/track", json=body).status_code == 401


def test_what_comes_from_an_excluded_address_is_not_kept(shop: Shop) -> None:
    settings = {"settings": {"excluded_ips": ["192.0.2.0/24"]}}
    shop.customer.patch(f"/projects/{shop.project_id}", settings)
    live = shop.customer.services.project_cache.with_id(shop.project_id)
    assert live.excludes("192.0.2.7")
    assert not live.excludes("198.51.100.1")
    assert not live.excludes("testclient")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://shop.example"}, 200),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "https://elsewhere.example", "Referer": "https://shop.example/cart"}, 403),
        ({"Referer": "https://shop.example/cart"}, 200),
        ({"Origin": "null", "Referer": "https://shop.example/cart"}, 200),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
def test_with_allowed_hosts_only_pages_of_other_sites_are_refused(
    shop: Shop, headers: dict[str, str], status: int
) -> None:
    shop.customer.patch(f"/projects/{shop.project_id}", {"settings": {"allowed_hosts_only": True}})
    answer = shop.post(TRACK, {"batch": [shop.exposure()]}, **headers)
    assert answer.status_code == status
    if status != 200:
        assert answer.json()["error"]["code"] == "forbidden"
        assert shop.stored_count() == 0


def test_with_allowed_hosts_only_servers_need_no_page(shop: Shop) -> None:
    shop.customer.patch(f"/projects/{shop.project_id}", {"settings": {"allowed_hosts_only": True}})
    body = {"batch": [shop.exposure()], "project_id": shop.project_id}
    assert shop.customer.with_key("sdk:write").call("POST", "/sdk/track", json=body).status_code == 200


def test_with_trusted_revenue_only_a_server_reports_orders(shop: Shop) -> None:
    shop.customer.patch(f"/projects/{shop.project_id}", {"settings": {"trusted_revenue": True}})
    order = {"event_id": "a", "visitor_id": "v1", "event_name": "purchase", "revenue_cents": 1999}
    refused = shop.post("/api/v1/sdk/convert", order).json()
    assert refused["results"][0]["code"] == "untrusted_revenue"
    server = shop.customer.with_key("sdk:write")
    body = {"batch": [order], "project_id": shop.project_id}
    assert server.call("POST", "/sdk/convert", json=body).json()["accepted"] == 1
    assert shop.stored("event_id, sender") == [("a", "server")]


def test_location_and_language_are_those_of_the_request(tmp_path: Path) -> None:
    file = write_location_file(tmp_path / "test.mmdb")
    with a_service(tmp_path / "store", the_app, geoip_file=file) as service:
        customer, project = service.shop.customer, f"/projects/{service.shop.project_id}"
        in_munich = [
            {"field": "city", "operator": "equals", "values": ["munich"]},
            {"field": "language", "operator": "starts_with", "values": ["de"]},
        ]
        rules = {"version": 2, "root": {"operator": "and", "children": in_munich}}
        local = customer.an_experiment(project, name="Local", targeting_rules=rules)
        assert customer.post(f"{local}/start").status_code == 200

        def statuses(address: str, **headers: str) -> str:
            sent = {**BROWSER, **{name.replace("_", "-"): value for name, value in headers.items()}}
            visit = RecordedRequest(target=INIT, body={}, headers=sent, client=(address, 4711))
            answer = json.loads(service.answer(visit)["body"])
            status: str = answer["assignments"][-1]["status"]
            return status

        assert statuses(IN_MUNICH, accept_language="de-AT,en;q=0.5") == "new"
        assert statuses(IN_MUNICH, accept_language="en,de;q=0.5") == "excluded"
        assert statuses(IN_FRANCE, accept_language="de") == "excluded"
        # Only a trusted proxy may say where a visitor is.
        assert statuses(IN_FRANCE, accept_language="de", cf_ipcity="Munich") == "excluded"
        event = RecordedRequest(body={"batch": [an_event("e1")]}, client=(IN_MUNICH, 4711))
        assert service.answer(event)["status"] == 200
        assert ("e1", "DE", "BY") in service.shop.stored("event_id, country, region")
        config = RecordedRequest(target=CONFIG, method="GET", headers=BROWSER, client=(IN_MUNICH, 4711))
        assert json.loads(service.answer(config)["body"])["facts"]["city"] == "Munich"
