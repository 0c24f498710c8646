"""The recipe of a Cloudflare Worker, run by Cloudflare's own runtime before a site."""

import json
import re
import shutil
import subprocess
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

import httpx2
import pytest

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.sdk.browser.conftest import USER_AGENT
from tests.api.sdk.browser.site import Site, a_config, a_page, an_experiment, served_site
from tests.api.serving import served
from tests.packages.js.conftest import package
from tests.packages.js.installed import SOURCES, Installed
from tests.recipes.environments import ROOT
from tests.truelift.client.conftest import RunningExperiment, running_experiment
from tests.waiting import wait_until

__all__ = ["package"]

RECIPE = ROOT / "recipes" / "worker"
# Of `make snippet-tools`.
PACKAGES = Path(__file__).parent / "worker" / "node_modules"
# As Wrangler bundles a worker.
BUNDLE = """
const { build } = await import(given[0].esbuild);
await build({
  entryPoints: ["worker.js"], bundle: true, format: "esm", target: "es2024", outfile: "bundle/worker.js",
  conditions: ["workerd", "worker", "browser"],
});
"""
CONFIGURATION = """
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "{date}", bindings = [{bindings}],
      globalOutbound = "network",
    )),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
"""
# Variants by the heading that they show.
NAMES = {"Original": "Original", "Fast &lt;delivery&gt;": "Fast"}


@dataclass(frozen=True)
class Edge:
    """A running worker, the site behind it, and visitors of both."""

    port: int
    site: Site

    def visit(self, path: str = "/", **headers: str) -> httpx2.Response:
        """Ask for a page as browsers do; the worker asks the host that is named."""
        host = self.site.base.removeprefix("http://")
        accepted = {"Host": host, "Accept": "text/html,*/*", "User-Agent": USER_AGENT, **headers}
        return httpx2.get(f"http://127.0.0.1:{self.port}{path}", headers=accepted, timeout=30)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Customer, Counter[str]]]:
    """The service, and the number of its requests by path."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60)
    app = create_app(settings)
    requests: Counter[str] = Counter()

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        requests[scope.get("path", "")] += 1
        await app(scope, receive, send)

    with served(cast("Any", counting), settings) as client:
        yield a_customer(client, app.state.services), requests


@pytest.fixture(scope="module")
def experiment(service: tuple[Customer, Counter[str]], site: Site) -> RunningExperiment:
    fast = {"name": "Fast", "payload": {"h1": "Fast <delivery>"}}
    variants = [{"name": "Original", "is_control": True}, fast]
    return running_experiment(
        service[0], variants=variants, public_variants=True, url=f"{site.base}/", url_match_type="exact"
    )


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served_site() as site:
        site.pages = {"/": a_page(), "/other": a_page()}
        site.files["/code.js"] = "<h1>Original</h1>"
        site.page_headers = {"ETag": '"1"', "Cache-Control": "public, s-maxage=600"}
        yield site


@pytest.fixture(scope="module")
def bundle(package: Installed) -> Path:
    """The worker as it is uploaded."""
    shutil.copy(RECIPE / "worker.js", package.folder)
    package.run(BUNDLE, {"esbuild": str(SOURCES / "node_modules" / "esbuild" / "lib" / "main.js")})
    return package.folder / "bundle" / "worker.js"


@contextmanager
def worker(bundle: Path, experiment: RunningExperiment, site: Site, base_url: str) -> Iterator[Edge]:
    """Run the worker by the recipe's settings, with names of the test."""
    wrangler = tomllib.loads((RECIPE / "wrangler.toml").read_text())
    given = {
        "TRUELIFT_BASE_URL": base_url,
        "TRUELIFT_PROJECT_ID": experiment.project_id,
        "TRUELIFT_TEST_KEY": experiment.test_key,
        "TRUELIFT_API_KEY": experiment.key,
    }
    assert given.keys() == {*wrangler["vars"], "TRUELIFT_API_KEY"}
    bindings = ", ".join(f"(name = {json.dumps(n)}, text = {json.dumps(v)})" for n, v in given.items())
    text = CONFIGURATION.format(date=wrangler["compatibility_date"], bindings=bindings)
    (configuration := bundle.with_name("config.capnp")).write_text(text)
    program = next(PACKAGES.glob("@cloudflare/workerd-*/bin/workerd"))
    command = [str(program), "serve", "--control-fd=1", str(configuration)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Edge(json.loads(cast("IO[str]", process.stdout).readline())["port"], site)
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def edge(bundle: Path, experiment: RunningExperiment, site: Site) -> Iterator[Edge]:
    with worker(bundle, experiment, site, experiment.url) as running:
        yield running


def heading(page: httpx2.Response) -> str:
    return page.text.partition("<h1>")[2].partition("</h1>")[0]


def test_pages_show_the_variants_that_the_service_gives_and_each_visitor_counts_once(
    edge: Edge, experiment: RunningExperiment, service: tuple[Customer, Counter[str]]
) -> None:
    customer, requests = service
    requests.clear()
    shown = {}
    for number in range(20):
        # Half of the visitors have a cookie of the snippet.
        sent = {"Cookie": f"a=b; truelift_visitor=visitor-{number}"} if number % 2 else {}
        first = edge.visit(**sent)
        visitor_id = first.cookies["truelift_visitor"]
        assert not sent or visitor_id == f"visitor-{number}"
        again = edge.visit(Cookie=f"truelift_visitor={visitor_id}", **{"If-None-Match": '"1"'})
        assert heading(again) == heading(first)
        shown[visitor_id] = NAMES[heading(first)]
    assert set(shown.values()) == set(NAMES.values())
    wait_until(lambda: sum(experiment.counted().values()) == 20)
    assert experiment.counted() == Counter(shown.values())
    # The experiments are kept between requests.
    assert requests["/api/v1/sdk/config"] == 1
    server = customer.with_key("sdk:write")
    for visitor_id, name in shown.items():
        body = {"visitor_id": visitor_id, "project_id": experiment.project_id, "url": f"{edge.site.base}/"}
        (given,) = server.post("/sdk/init", body).json()["assignments"]
        assert given["variant_name"] == name


def test_a_page_of_a_visitor_is_kept_by_nobody(edge: Edge) -> None:
    page = edge.visit("/other")
    assert page.headers["cache-control"] == "private, no-cache"
    assert "etag" not in page.headers
    visitor, mark = page.headers.get_list("set-cookie")
    rest = "Path=/; Max-Age=34560000; SameSite=Lax"
    assert re.fullmatch(f"truelift_visitor=[0-9a-f-]{{36}}; {rest}", visitor)
    assert mark == f"truelift_by_server=1; {rest}"


def test_bots_pages_outside_the_experiment_and_files_are_not_counted(
    edge: Edge, experiment: RunningExperiment, service: tuple[Customer, Counter[str]]
) -> None:
    before = sum(experiment.counted().values())
    service[1].clear()
    assert heading(edge.visit("/other")) == "Original"
    assert "set-cookie" not in edge.visit("/code.js").headers
    edge.visit(**{"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"})
    wait_until(lambda: service[1]["/api/v1/sdk/track"] == 1)
    edge.visit()
    wait_until(lambda: sum(experiment.counted().values()) > before)
    assert sum(experiment.counted().values()) == before + 1


def test_without_the_service_visitors_see_the_original_and_are_not_counted(
    bundle: Path, experiment: RunningExperiment, site: Site
) -> None:
    before = experiment.counted()
    with worker(bundle, experiment, site, "http://127.0.0.1:9") as edge:
        pages = [edge.visit() for _ in range(10)]
    assert {page.text for page in pages} == {a_page()}
    assert {(page.headers["etag"], "set-cookie" in page.headers) for page in pages} == {('"1"', False)}
    assert experiment.counted() == before


def test_a_service_that_hangs_is_waited_for_once(
    bundle: Path, experiment: RunningExperiment, site: Site
) -> None:
    gate = site.gates["/api/v1/sdk/config"] = threading.Event()
    site.requests.clear()
    try:
        with worker(bundle, experiment, site, site.service) as edge:
            assert {edge.visit().text for _ in range(3)} == {a_page()}
    finally:
        gate.set()
    assert sum(path.startswith("/api/v1/sdk/config") for _, path, _ in site.requests) == 1


def test_the_worker_keeps_to_the_privacy_settings_and_the_cookie_domain_of_the_project(
    bundle: Path, experiment: RunningExperiment, site: Site
) -> None:
    known = {"Cookie": "truelift_visitor=visitor-1"}
    described = an_experiment(test_key=experiment.test_key)
    described["variants"][1]["payload"] = {"h1": "Changed"}
    settings = {
        "require_consent": True,
        "respect_gpc": True,
        "respect_dnt": True,
        "cookie_domain": "localhost",
    }
    site.config = a_config(described, settings=settings)
    with worker(bundle, experiment, site, site.service) as edge:
        for headers in ({}, {**known, "Sec-GPC": "1"}, {**known, "DNT": "1"}):
            page = edge.visit(**headers)
            assert (page.text, "set-cookie" in page.headers) == (a_page(), False)
        page = edge.visit(**known)
        assert heading(page) == "Changed"
        assert all("; Domain=localhost" in cookie for cookie in page.headers.get_list("set-cookie"))
        (exposure,) = wait_until(lambda: site.events("exposure"))
    assert exposure["visitor_id"] == "visitor-1"
    # The runtime's clocks do not run while modules load.
    assert abs(datetime.fromisoformat(exposure["timestamp"]) - datetime.now(UTC)) < timedelta(hours=1)
    assert exposure["attributes"]["user_agent"] == USER_AGENT
