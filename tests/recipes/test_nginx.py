"""The recipe of nginx, run: the snippet through the site's own domain."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, sync_playwright

from api.app import create_app
from api.installation import snippet_html
from api.middleware.proxies import LOCATION_HEADERS
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.sdk.browser.conftest import USER_AGENT, chromium_path, launch_chromium
from tests.api.serving import served
from tests.recipes.environments import ROOT
from tests.waiting import wait_until

RECIPE = ROOT / "recipes" / "nginx"
# Browsers resolve it to this machine, and keep cookies of its domain.
DOMAIN = "shop.localhost"
EXCLUDED, OTHER = "127.0.0.2", "127.0.0.3"
PAGE = "<!doctype html><html><head>{head}</head><body><h1>Original</h1></body></html>"
CONFIGURATION = """
daemon off;
user {user};
pid {folder}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  {http}
  server {{
    listen 127.0.0.1:{port};
    {server}
    location / {{
      root {folder}/site;
      default_type text/html;
      add_header Set-Cookie $truelift_visitor;
      add_header Set-Cookie $truelift_by_server;
    }}
  }}
}}
"""


@dataclass
class Truelift:
    """The service, which writes down what it is sent; scripts are fresh for a second only."""

    app: FastAPI
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    is_open: threading.Event = field(default_factory=threading.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.requests.append((scope["path"], headers))
            # Else answers that are whole go past `send`.
            scope.pop("extensions", None)

        async def send_short_lived(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (name, value.replace(b"age=60", b"age=1", 1))
                    for name, value in message.get("headers", ())
                ]
                message = {**message, "headers": headers}
            await send(message)

        if scope["type"] == "http" and not self.is_open.is_set():
            raise ConnectionError
        await self.app(scope, receive, send_short_lived)


@dataclass(frozen=True, slots=True)
class ProxiedShop:
    """A shop behind nginx, and an experiment on its pages."""

    customer: Customer
    truelift: Truelift
    experiment: str
    base: str
    port: int
    key: str

    def client(self, address: str = "127.0.0.1", **headers: str) -> httpx2.Client:
        """Make a client of nginx that has a network address of its own."""
        transport = httpx2.HTTPTransport(local_address=address)
        return httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", transport=transport, headers=headers)

    def script(self, coding: str) -> httpx2.Response:
        with self.client() as client:
            return client.get(f"/truelift/sdk/v1/{self.key}.js", headers={"Accept-Encoding": coding})


@contextmanager
def nginx(folder: Path, service_port: int, port: int) -> Iterator[None]:
    """Run nginx with the recipe, its names replaced by those of the test."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "needs nginx: apt-get install nginx-light"
    http = (RECIPE / "truelift-http.conf").read_text()
    for theirs, ours in {
        "127.0.0.1:8000": f"127.0.0.1:{service_port}",
        "/var/cache/nginx/truelift": f"{folder}/cache",
        "example.com": DOMAIN,
    }.items():
        assert theirs in http
        http = http.replace(theirs, ours)
    configuration = folder / "nginx.conf"
    server = f"include {RECIPE}/truelift-server.conf;"
    text = CONFIGURATION.format(user="root", folder=folder, http=http, server=server, port=port)
    configuration.write_text(text)
    with subprocess.Popen([program, "-e", "stderr", "-p", folder, "-c", configuration]) as process:
        try:
            wait_until(lambda: is_listening(port) or process.poll() is not None)
            yield
        finally:
            process.terminate()


def is_listening(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedShop]:
    folder = tmp_path_factory.mktemp("nginx")
    settings = Settings(data_dir=folder / "store", trusted_proxies="127.0.0.1/32", fresh_read_seconds=60)
    truelift = Truelift(create_app(settings))
    truelift.is_open.set()
    with ExitStack() as stack:
        client = stack.enter_context(served(cast("FastAPI", truelift), settings))
        customer = a_customer(client, truelift.app.state.services)
        port = free_port()
        base = f"http://www.{DOMAIN}:{port}"
        exclusion = {"excluded_ips": [EXCLUDED], "anti_flicker_timeout_ms": 10_000}
        project = customer.a_project(url=base, settings=exclusion)
        nobody = {"name": "Control", "is_control": True, "weight": 0}
        changes = [{"selector": "h1", "action": "modify_text", "value": "Changed"}]
        everybody = {"name": "Changed", "weight": 1, "changes": changes}
        experiment = customer.an_experiment(
            project, url="/", url_match_type="starts_with", variants=[nobody, everybody]
        )
        assert customer.post(f"{experiment}/start").status_code == 200
        found = customer.services.catalog.projects.find(project.rpartition("/")[2])
        (folder / "site").mkdir()
        head = snippet_html(found, f"{base}/truelift")
        (folder / "site" / "index.html").write_text(PAGE.format(head=head))
        stack.enter_context(nginx(folder, client.base_url.port or 0, port))
        yield ProxiedShop(customer, truelift, experiment, base, port, found.sdk_key)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright, chromium_path())
        yield browser
        browser.close()


def test_a_page_assigns_and_counts_through_its_own_domain(shop: ProxiedShop, chromium: Browser) -> None:
    context = chromium.new_context(user_agent=USER_AGENT)
    context.add_cookies([{"name": "session", "value": "secret", "url": shop.base}])
    page = context.new_page()
    shop.truelift.requests.clear()
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.goto(f"{shop.base}/")
    assert page.inner_text("h1") == "Changed"
    page.evaluate("truelift.track('purchase')")
    wait_until(lambda: not page.evaluate("JSON.stringify(localStorage).includes('event_id')"))
    assert hosts == {f"www.{DOMAIN}:{shop.port}"}
    by_path = dict(shop.truelift.requests)
    assert set(by_path) == {f"/sdk/v1/{shop.key}.js", "/api/v1/sdk/track"}
    for headers in by_path.values():
        assert {"cookie", "authorization"}.isdisjoint(headers)
        assert headers["x-forwarded-for"] == "127.0.0.1"
    # The site's own server makes the cookie of the script last.
    before = {cookie["name"]: cookie["value"] for cookie in context.cookies()}
    with page.expect_response(f"{shop.base}/") as found:
        page.reload()
    answered = found.value.headers_array()
    cookies = [one["value"] for one in answered if one["name"].lower() == "set-cookie"]
    rest = f"Path=/; Max-Age=34560000; SameSite=Lax; Domain={DOMAIN}"
    assert cookies == [
        f"truelift_visitor={before['truelift_visitor']}; {rest}",
        f"truelift_by_server=1; {rest}",
    ]
    after = {cookie["name"]: cookie["value"] for cookie in context.cookies()}
    assert after == {**before, "truelift_by_server": "1"}
    context.close()

    def counted() -> tuple[int, int]:
        (variants,) = shop.customer.data_of(f"{shop.experiment}/results")["variants"].values()
        (one,) = [one for one in variants if one["variant_name"] == "Changed"]
        return one["visitors"], one["conversions"]

    wait_until(lambda: counted() == (1, 1))


def test_the_service_sees_the_address_of_the_client_whatever_it_says(shop: ProxiedShop) -> None:
    event = {"type": "custom_event", "event_name": "seen", "visitor_id": "visitor-of-nginx"}
    body = {"batch": [{**event, "event_id": "event-1"}]}
    track = f"/truelift/api/v1/sdk/track?key={shop.key}"
    with shop.client(EXCLUDED) as client:
        (result,) = client.post(track, json=body).json()["results"]
        assert (result["status"], result["code"]) == ("rejected", "excluded_address")
    written = {name.decode(): "DE" for name in LOCATION_HEADERS}
    with shop.client(OTHER, **{"X-Forwarded-For": EXCLUDED, **written}) as client:
        (result,) = client.post(track, json=body).json()["results"]
        assert (result["status"], result["code"]) == ("ok", None)
    path, headers = shop.truelift.requests[-1]
    assert (path, headers["x-forwarded-for"]) == ("/api/v1/sdk/track", f"{EXCLUDED}, {OTHER}")
    assert written.keys().isdisjoint(headers)


def test_no_cookie_is_set_before_the_script_has_set_it(shop: ProxiedShop) -> None:
    with shop.client() as client:
        assert "set-cookie" not in client.get("/").headers
        # Nor one that would end the header.
        assert "set-cookie" not in client.get("/", headers={"Cookie": "truelift_visitor=a b; c"}).headers


def test_nothing_but_the_sdk_is_reached(shop: ProxiedShop) -> None:
    with shop.client() as client:
        for path in ("/truelift/", "/truelift/api/v1/projects", "/truelift/docs", "/truelift/healthz"):
            assert client.get(path).status_code == 404


def test_scripts_are_kept_compressed_and_outlive_their_age_and_the_service(shop: ProxiedShop) -> None:
    fresh = {coding: shop.script(coding) for coding in ("br", "gzip")}
    assert {coding: one.headers["content-encoding"] for coding, one in fresh.items()} == {
        "br": "br",
        "gzip": "gzip",
    }
    assert fresh["br"].text == fresh["gzip"].text

    def asked() -> int:
        return sum(path.endswith(".js") for path, _ in shop.truelift.requests)

    before = asked()
    # Once it is older than a second, the next reader gets it at once, and a newer one is fetched meanwhile.
    wait_until(lambda: shop.script("br").status_code == 200 and asked() > before)
    shop.truelift.is_open.clear()
    try:
        before = asked()
        wait_until(lambda: shop.script("br").text == fresh["br"].text and asked() > before)
        assert shop.script("br").status_code == 200
    finally:
        shop.truelift.is_open.set()
