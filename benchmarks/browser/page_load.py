"""Loads of a page whose heading is red, and green for the visitors of an experiment.

The same page without a script, with ours, and with GrowthBook's script for visual experiments, with and
without its anti-flicker style. Every load is by a new visitor with an empty cache, over a simulated
connection, and Chromium runs at a quarter of its speed. The page is on another origin than the scripts.
"""

import gzip
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, CDPSession, sync_playwright

from benchmarks.service.serving import served
from benchmarks.service.sites import a_site, serve_site

LOADS = 11
LATENCY_MS = 40
BYTES_PER_SECOND = 1_250_000
SLOWDOWN = 4
GROWTHBOOK = "1.8.0"
# A headless browser that says so is a bot to us.
USER_AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
PAGE = """<!doctype html><html><head><title>Shop</title>{head}
<style>h1 {{ background: rgb(255, 0, 0) }}</style></head><body><h1>Buy now</h1>{text}</body></html>"""
GREEN = "rgb(0, 128, 0)"
# Seen at each frame that Chromium is about to paint; a frame that hides the page shows nothing.
WATCH = """
const seen = { frames: [], shift: 0, longTasks: 0 };
globalThis.seen = seen;
const observe = (type, take) =>
  new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
observe("layout-shift", ({ value }) => { seen.shift += value; });
observe("longtask", ({ duration }) => { seen.longTasks += duration; });
const look = () => {
  const heading = document.querySelector("h1");
  if (heading && getComputedStyle(document.documentElement).opacity !== "0"
      && getComputedStyle(document.documentElement).visibility !== "hidden") {
    seen.frames.push([performance.now(), getComputedStyle(heading).backgroundColor]);
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
DRAFT: Mapping[str, Any] = {
    "url": "/",
    "url_match_type": "starts_with",
    "variants": [
        {"name": "Red", "is_control": True, "weight": 0},
        {
            "name": "Green",
            "weight": 1,
            "changes": [{"selector": "h1", "action": "modify_style", "value": f"background: {GREEN}"}],
        },
    ],
}
DELAYED = re.compile(r"/d(\d+)(/.*)")
FEATURES: Mapping[str, Any] = {
    "status": 200,
    "features": {},
    "experiments": [
        {
            "key": "green",
            "status": "running",
            "hashAttribute": "id",
            "weights": [0, 1],
            "coverage": 1,
            "urlPatterns": [{"include": True, "type": "simple", "pattern": "*"}],
            "meta": [{"key": "0"}, {"key": "1"}],
            "variations": [
                {"domMutations": [], "css": "", "js": ""},
                {"domMutations": [], "css": f"h1 {{ background: {GREEN} !important }}", "js": ""},
            ],
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Load:
    """One load: bytes and requests of the script, milliseconds until the variant, and what the eye saw."""

    size: int
    requests: int
    first_frame: float
    variant: float | None
    red_frames: int
    shift: float
    long_tasks: float


def run() -> list[dict[str, Any]]:
    """Load each page in turn; the median of each figure, and the time until the variant against no script."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = a_site(folder / "store", DRAFT)
        port = stack.enter_context(served(serve_site, site.data_dir))
        peer = stack.enter_context(answered(growthbook_files(folder)))
        pages = {
            "no script": "",
            "ours": snippet(port, site.project_id, site.token),
            "GrowthBook": growthbook_tag(f"http://127.0.0.1:{peer}"),
            "GrowthBook, anti-flicker": growthbook_tag(
                f"http://127.0.0.1:{peer}", 'data-anti-flicker="true"'
            ),
        }
        text = "<p>text</p>" * 400
        documents = {
            f"/{index}": PAGE.format(head=head, text=text) for index, head in enumerate(pages.values())
        }
        shop = stack.enter_context(
            answered({path: ("text/html", page.encode()) for path, page in documents.items()})
        )
        browser = stack.enter_context(chromium())
        loads: dict[str, list[Load]] = {name: [] for name in pages}
        for _ in range(LOADS):
            for index, name in enumerate(pages):
                loads[name].append(load(browser, f"http://localhost:{shop}/{index}"))
    return [row(name, taken, loads["no script"]) for name, taken in loads.items()]


def row(name: str, loads: list[Load], bare: list[Load]) -> dict[str, Any]:
    """Lay out the medians of a page."""

    def median(figure: Callable[[Load], float]) -> float:
        return statistics.median(map(figure, loads))

    shown = [one.variant for one in loads if one.variant is not None]
    first = statistics.median(one.first_frame for one in bare)
    return {
        "page": name,
        "bytes": f"{median(lambda one: one.size):,.0f}",
        "requests": f"{median(lambda one: one.requests):.0f}",
        "first frame, ms": f"{median(lambda one: one.first_frame):.0f}",
        "variant, ms": f"{statistics.median(shown):.0f}" if shown else "",
        "variant / first frame without": f"{statistics.median(shown) / first:.2f}" if shown else "",
        "loads with a red frame": f"{sum(one.red_frames > 0 for one in loads)} of {len(loads)}",
        "layout shift": f"{median(lambda one: one.shift):.3f}",
        "long tasks, ms": f"{median(lambda one: one.long_tasks):.0f}",
    }


def load(browser: Browser, address: str) -> Load:
    """Load a page as a new visitor, until nothing more is requested."""
    context = browser.new_context(user_agent=USER_AGENT)
    try:
        page = context.new_page()
        session = context.new_cdp_session(page)
        sizes = slow_and_counted(session)
        page.add_init_script(WATCH)
        page.goto(address, wait_until="networkidle")
        seen = page.evaluate("seen")
    finally:
        context.close()
    frames = seen["frames"]
    greens = [time for time, color in frames if color == GREEN]
    reds = [time for time, color in frames if color != GREEN and (not greens or time < greens[0])]
    scripts = [size for url, size in sizes.items() if not url.startswith(address.rpartition("/")[0])]
    return Load(
        size=sum(scripts),
        requests=len(scripts),
        first_frame=frames[0][0],
        variant=greens[0] if greens else None,
        red_frames=len(reds),
        shift=seen["shift"],
        long_tasks=seen["longTasks"],
    )


def slow_and_counted(session: CDPSession) -> dict[str, int]:
    """Slow a page down, and count the bytes that it receives by address."""
    sizes: dict[str, int] = {}
    addresses: dict[str, str] = {}
    session.send("Network.enable")
    session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": LATENCY_MS,
            "downloadThroughput": BYTES_PER_SECOND,
            "uploadThroughput": BYTES_PER_SECOND,
        },
    )
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    session.on(
        "Network.requestWillBeSent",
        lambda event: addresses.__setitem__(event["requestId"], event["request"]["url"]),
    )
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.__setitem__(addresses[event["requestId"]], round(event["encodedDataLength"])),
    )
    return sizes


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the Chromium of the machine."""
    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--disable-blink-features=AutomationControlled"]
        )
        yield browser
        browser.close()


def snippet(port: int, project_id: str, token: str) -> str:
    """Return the markup that the service gives for the head of a page."""
    address = f"http://127.0.0.1:{port}/api/v1/projects/{project_id}/installation"
    answer = httpx2.get(address, headers={"Authorization": f"Bearer {token}"})
    markup: str = answer.json()["data"]["snippet_html"]
    return markup


def growthbook_tag(host: str, attributes: str = "") -> str:
    """Return the markup of GrowthBook's documentation, for a service of one's own."""
    return (
        f'<script async data-api-host="{host}" data-client-key="sdk-1" data-no-streaming="true" {attributes} '
        f'src="{host}/auto.min.js"></script>'
    )


def growthbook_files(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Fetch GrowthBook's script from npm, and answer its configuration as its API does."""
    npm = Path(sys.executable).with_name("npm")
    package = f"@growthbook/growthbook@{GROWTHBOOK}"
    subprocess.run([npm, "install", "--prefix", folder, package], check=True, capture_output=True)
    script = folder / "node_modules" / "@growthbook" / "growthbook" / "dist" / "bundles" / "auto.min.js"
    features = json.dumps(FEATURES).encode()
    return {
        "/auto.min.js": ("text/javascript", script.read_bytes()),
        "/api/features/sdk-1": ("application/json", features),
    }


@contextmanager
def answered(files: Mapping[str, tuple[str, bytes]]) -> Iterator[int]:
    """Serve files compressed, to any origin, and under `/d500` half a second later; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if delayed := DELAYED.match(path):
                time.sleep(int(delayed[1]) / 1000)
                path = delayed[2]
            kind, content = files.get(path, ("", b""))
            body = gzip.compress(content, 9)
            self.send_response(200 if kind else 404)
            for name, value in {
                "Content-Type": kind,
                "Content-Encoding": "gzip",
                "Content-Length": str(len(body)),
                "Cache-Control": "max-age=60",
                "Access-Control-Allow-Origin": "*",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Print nothing: a page that ends closes its connections."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
