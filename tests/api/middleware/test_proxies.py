"""Trusted proxies: the address, scheme and headers of a request as the application sees them."""

from ipaddress import ip_network
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from api.middleware.proxies import MAX_PROXIES, TrustedProxies, client_address
from tests.api.shops import Shop

PROXY = "10.0.0.1"
TRUSTED = ("10.0.0.0/8", "2001:db8:1::/48")
TRACK = "/api/v1/sdk/track"


def seen(peer: str | None, headers: dict[str, str]) -> dict[str, Any]:
    """Return what the application sees of a request from an address."""

    async def tell(scope: Scope, receive: Receive, send: Send) -> None:
        # A server on a socket file knows no address.
        scope["client"] = None if peer is None else scope["client"]
        proxies.read_reports(scope)
        request = Request(scope)
        told = {"address": client_address(request), "scheme": scope["scheme"]}
        await JSONResponse({**told, "country": request.headers.get("cf-ipcountry")})(scope, receive, send)

    proxies = TrustedProxies(map(ip_network, TRUSTED))
    found: dict[str, Any] = TestClient(tell, client=(peer or "", 1)).get("/", headers=headers).json()
    return found


@pytest.mark.parametrize(
    ("peer", "chain", "address"),
    [
        # A stranger's own word is not taken.
        ("198.51.100.1", "192.0.2.7", "198.51.100.1"),
        ("198.51.100.1", "10.0.0.9", "198.51.100.1"),
        (PROXY, "192.0.2.7", "192.0.2.7"),
        # What the visitor put there comes first, what the proxy saw last.
        (PROXY, "203.0.113.9, 192.0.2.7", "192.0.2.7"),
        (PROXY, "192.0.2.7, 10.0.0.2", "192.0.2.7"),
        (PROXY, "203.0.113.9, 192.0.2.7, 10.0.0.2, 2001:db8:1::2", "192.0.2.7"),
        (PROXY, "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        (PROXY, "192.0.2.7:4711", "192.0.2.7"),
        (PROXY, "[2001:db8:2::7]:4711", "2001:db8:2::7"),
        (PROXY, "2001:DB8:2:0::7", "2001:db8:2::7"),
        (PROXY, "::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "", "192.0.2.7"),
        (PROXY, "192.0.2.7, unknown", PROXY),
        (PROXY, "192.0.2.7, nonsense, 10.0.0.2", "10.0.0.2"),
        (PROXY, "", PROXY),
        (PROXY, ",,,", PROXY),
        (None, "192.0.2.7", None),
    ],
)
def test_the_client_is_the_last_address_that_is_no_trusted_proxys(
    peer: str | None, chain: str, address: str | None
) -> None:
    assert seen(peer, {"X-Forwarded-For": chain})["address"] == address


def test_a_long_chain_is_read_from_its_end_only() -> None:
    chain = ", ".join(["192.0.2.7", *["10.0.0.2"] * 10 * MAX_PROXIES])
    assert seen(PROXY, {"X-Forwarded-For": chain})["address"] == "10.0.0.2"


@pytest.mark.parametrize(
    ("peer", "told", "scheme"),
    [
        (PROXY, "https", "https"),
        (PROXY, "http, HTTPS", "https"),
        (PROXY, "gopher", "http"),
        ("198.51.100.1", "https", "http"),
    ],
)
def test_the_scheme_is_believed_from_a_trusted_proxy(peer: str, told: str, scheme: str) -> None:
    assert seen(peer, {"X-Forwarded-Proto": told})["scheme"] == scheme


@pytest.mark.parametrize(("peer", "country"), [(PROXY, "US"), ("198.51.100.1", None), (None, None)])
def test_the_country_is_believed_from_a_trusted_proxy(peer: str | None, country: str | None) -> None:
    assert seen(peer, {"CF-IPCountry": "US"})["country"] == country


def test_an_excluded_visitor_behind_a_proxy_is_excluded_and_the_proxy_is_not(shop: Shop) -> None:
    settings = {"settings": {"excluded_ips": ["192.0.2.0/24"]}}
    shop.customer.patch(f"/projects/{shop.project_id}", settings)
    excluded = shop.post(TRACK, {"batch": [shop.exposure("a")]}, X_Forwarded_For="192.0.2.7")
    assert excluded.json()["results"][0]["code"] == "excluded_address"
    told = shop.post(TRACK, {"batch": [shop.exposure("b")]}, X_Forwarded_For="192.0.2.7, 198.51.100.1")
    assert told.json()["accepted"] == 1


def test_the_country_of_a_visitor_behind_a_proxy_is_stored(shop: Shop) -> None:
    shop.post(TRACK, {"batch": [shop.exposure("a")]}, CF_IPCountry="CA")
    stranger = TestClient(shop.customer.client.app, client=("198.51.100.1", 1))  # type: ignore[attr-defined] # a TestClient
    headers = {"X-SDK-Key": shop.sdk_key, "CF-IPCountry": "US"}
    stranger.post(TRACK, json={"batch": [shop.exposure("b")]}, headers=headers)
    assert shop.stored("country") == ["CA", None]
