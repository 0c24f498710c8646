"""The visitor's cookie: given once, kept alive, and not against the visitor's will or into shared caches."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.builders import an_experiment
from truelift.client.assigned_variants import AssignedVariants
from truelift.client.visitor_cookie import COOKIE, MARK, MAX_AGE_SECONDS, VisitorCookie, cookie_domain

KNOWN = {"Cookie": f"other=1; {COOKIE}=0d6ff5f0-59b8-4f4e-8a3c-2f1c4a4f9d11"}


@dataclass
class Settings:
    settings: Mapping[str, Any] = field(default_factory=lambda: {"require_consent": False})


async def show(request: Request) -> Response:
    headers = {"cache-control": value} if (value := request.query_params.get("caching")) else None
    return Response(str(request.state.truelift_visitor), media_type="text/html", headers=headers)


async def give(request: Request) -> Response:
    assigned = request.state.truelift_assigned
    if isinstance(assigned, AssignedVariants):
        assigned.keep(an_experiment(id="exp_000001"), None, "var_00000b")
    return Response(str(assigned and (assigned.cookie, assigned.is_new_visitor)), media_type="text/html")


async def data(_: Request) -> Response:
    return JSONResponse({})


def get(
    path: str = "/",
    *,
    headers: Mapping[str, str] | None = None,
    base_url: str = "https://shop.example",
    settings: Mapping[str, Any] | None = None,
) -> httpx2.Response:
    app = Starlette(routes=[Route("/", show), Route("/data", data), Route("/give", give)])
    wrapped = VisitorCookie(app, Settings(settings or {"require_consent": False}))

    async def request() -> httpx2.Response:
        transport = httpx2.ASGITransport(wrapped)
        async with httpx2.AsyncClient(transport=transport, base_url=base_url) as client:
            return await client.get(path, headers=headers)

    return asyncio.run(request())


def test_a_new_visitor_gets_an_id_which_the_page_knows() -> None:
    answer = get(settings={"cookie_domain": "shop.example"})
    first, second = answer.headers.get_list("set-cookie")
    cookie = SimpleCookie(first)[COOKIE]
    assert cookie.value == answer.text
    # The script leaves the cookie alone as long as there is the second one.
    assert second == first.replace(f"{COOKIE}={answer.text}", f"{MARK}=1")
    assert cookie["domain"] == "shop.example"
    assert int(cookie["max-age"]) == MAX_AGE_SECONDS
    assert (cookie["path"], cookie["samesite"], cookie["secure"]) == ("/", "Lax", True)
    assert answer.headers["cache-control"] == "private"
    assert get().text != answer.text


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("shop.example", "shop.example"),
        ("de.www.Shop.example:8443", "shop.example"),
        ("www.shop.co.uk", "shop.co.uk"),
        ("me.github.io", "me.github.io"),
        ("github.io", None),
        ("localhost:8000", None),
        ("127.0.0.1:8000", None),
        ("[::1]:8000", None),
        # No name that a browser takes a cookie for.
        ("shop.example.", None),
        ("", None),
        ("www.shop.example;Domain=evil.example", None),
        ("a.example, b.example", None),
        ("127.1", None),
    ],
)
def test_the_cookie_is_of_the_widest_domain_that_a_browser_allows(host: str, domain: str | None) -> None:
    assert cookie_domain(None, host) == domain


@pytest.mark.parametrize(
    ("setting", "host", "domain"),
    [
        ("www.shop.com", "www.shop.com:8443", "www.shop.com"),
        (".shop.com", "DE.shop.com", "shop.com"),
        # A browser refuses shop.com here, and the visitor would have a new id in every request.
        ("shop.com", "www.shop.fr", "shop.fr"),
        ("shop.com", "myshop.com", "myshop.com"),
        # As a proxy calls the server.
        ("shop.com", "backend:8000", "shop.com"),
        ("shop.com", "127.0.0.1:8000", "shop.com"),
        ("shop.com", "shop.cluster.local", "shop.com"),
    ],
)
def test_the_projects_domain_is_not_that_of_its_other_sites(setting: str, host: str, domain: str) -> None:
    assert cookie_domain(setting, host) == domain


def test_one_visitor_has_one_cookie_on_all_subdomains() -> None:
    first = get(base_url="https://www.shop.example")
    cookie = SimpleCookie(first.headers.get_list("set-cookie")[0])[COOKIE]
    assert cookie["domain"] == "shop.example"
    other = get(base_url="https://help.shop.example", headers={"Cookie": f"{COOKIE}={cookie.value}"})
    assert other.text == cookie.value


def test_a_known_visitor_keeps_the_id_and_the_cookie_is_kept_alive() -> None:
    answer = get(headers=KNOWN)
    assert answer.text == "0d6ff5f0-59b8-4f4e-8a3c-2f1c4a4f9d11"
    cookie, _ = answer.headers.get_list("set-cookie")
    assert SimpleCookie(cookie)[COOKIE].value == answer.text


@pytest.mark.parametrize(
    "other", ['cart={"a":1}', "a[b]=1", "flag", 'a="b', "truelift_visitor=short", "=", "a b=c"]
)
def test_no_cookie_of_others_hides_the_visitors(other: str) -> None:
    known = "truelift_visitor=0d6ff5f0-59b8-4f4e-8a3c-2f1c4a4f9d11"
    for cookies in (f"{other}; {known}", f"{known}; {other}"):
        answer = get(headers={"Cookie": cookies})
        assert answer.text == "0d6ff5f0-59b8-4f4e-8a3c-2f1c4a4f9d11"


def test_of_two_ids_the_first_counts_as_in_the_script() -> None:
    assert (
        get(headers={"Cookie": "truelift_visitor=first-id-1; truelift_visitor=second-id-2"}).text
        == "first-id-1"
    )


def test_cookies_on_several_lines_are_one_header() -> None:
    """HTTP/2 divides them (RFC 9113, 8.2.3)."""
    scope: dict[str, Any] = {
        "type": "http",
        "headers": [(b"cookie", b"truelift_visitor=first-id-1"), (b"cookie", b"a=b")],
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        """Answer nothing."""

    async def nothing(*_: Any) -> Any:
        """Neither receive nor send."""

    asyncio.run(VisitorCookie(app, Settings())(scope, nothing, nothing))
    assert scope["state"][COOKIE] == "first-id-1"


@pytest.mark.parametrize("cookie", ["", "<script>", "a b", "x" * 65, "short"])
def test_what_is_no_id_is_replaced(cookie: str) -> None:
    answer = get(headers={"Cookie": f'{COOKIE}="{cookie}"'})
    assert len(answer.text) == 36


def test_without_consent_there_is_no_id() -> None:
    assert get(settings={"require_consent": True}).text == "None"
    assert "set-cookie" not in get(settings={"require_consent": True}).headers
    # The script sets the cookie once the visitor has consented.
    assert "set-cookie" in get(headers=KNOWN, settings={"require_consent": True}).headers


@pytest.mark.parametrize(("setting", "signal"), [("respect_gpc", "Sec-GPC"), ("respect_dnt", "DNT")])
def test_signals_of_the_browser_hold_where_the_project_respects_them(setting: str, signal: str) -> None:
    headers = {**KNOWN, signal: "1"}
    refused = get(headers=headers, settings={setting: True})
    assert refused.text == "None"
    assert "set-cookie" not in refused.headers
    assert "set-cookie" in get(headers=headers, settings={setting: False}).headers
    assert "set-cookie" in get(headers=KNOWN, settings={setting: True}).headers


def test_until_the_settings_are_known_nobody_gets_an_id() -> None:
    app = VisitorCookie(Starlette(routes=[Route("/", show)]), Settings({}))

    async def request() -> str:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://shop") as client:
            return (await client.get("/")).text

    assert asyncio.run(request()) == "None"


@pytest.mark.parametrize("caching", ["public, max-age=60", "s-maxage=60"])
def test_an_answer_that_a_shared_cache_may_keep_has_no_cookie(caching: str) -> None:
    answer = get(f"/?caching={caching}")
    assert "set-cookie" not in answer.headers
    assert answer.headers["cache-control"] == caching


def test_caching_that_the_page_states_stays() -> None:
    answer = get("/?caching=no-store")
    assert "set-cookie" in answer.headers
    assert answer.headers["cache-control"] == "no-store"


def test_data_carry_no_cookie() -> None:
    assert "set-cookie" not in get("/data").headers


def test_without_https_the_cookie_is_not_secure() -> None:
    assert "secure" not in get(base_url="http://shop.example").headers["set-cookie"].lower()


def test_variants_that_a_page_gives_are_set_beside_those_of_the_cookie() -> None:
    sent = {"Cookie": f"{KNOWN['Cookie']}; truelift_assigned=000007:00000a"}
    answer = get("/give", headers=sent)
    assert answer.text == "('000007:00000a.000001:00000b', False)"
    assert get("/give").text == "('000001:00000b', True)"
    *_, third = answer.headers.get_list("set-cookie")
    assert third.startswith("truelift_assigned=000007:00000a.000001:00000b; Path=/; Max-Age=34560000")
    # Kept alive where nothing is given.
    *_, third = get(headers=sent).headers.get_list("set-cookie")
    assert third.startswith("truelift_assigned=000007:00000a;")


def test_no_variants_are_set_without_any_or_without_a_visitor() -> None:
    assert len(get(headers=KNOWN).headers.get_list("set-cookie")) == 2
    answer = get("/give", settings={"require_consent": True})
    assert (answer.text, answer.headers.get_list("set-cookie")) == ("None", [])
