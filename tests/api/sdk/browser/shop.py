"""A shop on localhost, and a bad network to its service: requests are slow, fail, or lose their answers."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

# Of the answer, and of the service's to the network.
HEADERS = ("content-type", "content-encoding", "cache-control", "etag", "vary", "access-control-allow-origin")
# What other tabs have left is as old as if they had ended long ago.
LATER = """<script>
  for (const [name, kept] of Object.entries(localStorage)) {
    if (!name.startsWith("truelift_q.")) continue;
    const [keptAt, ...events] = JSON.parse(kept);
    localStorage.setItem(name, JSON.stringify([keptAt - 40_000, ...events]));
  }
  localStorage.removeItem("truelift_retry");
</script>"""


@dataclass
class Network:
    """What happens to requests to the service, by chance; nothing does while it is calm."""

    dice: random.Random
    slowest_seconds: float
    is_calm: bool = True

    def fate(self) -> tuple[str, float, float]:
        """Draw what happens to a request, and its delays before and after the service has it."""
        if self.is_calm:
            return "answered", 0, 0
        kinds = ["answered", "refused", "lost", "unanswered"]
        (kind,) = self.dice.choices(kinds, weights=[80, 7, 7, 6])
        # Half of the requests are fast.
        seconds = self.dice.choice([0, self.slowest_seconds]) * self.dice.random()
        before = seconds * self.dice.random()
        return kind, before, seconds - before


@contextmanager
def served_shop(script: str, network: Network, service: httpx2.Client) -> Iterator["ShopServer"]:
    """Serve the shop's pages, and its service through the network, until the end."""
    server = ShopServer(script, network, service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class ShopServer(ThreadingHTTPServer):
    """Pages by `localhost`, the service by `127.0.0.1`."""

    daemon_threads = True
    # Of many pages at once.
    request_queue_size = 100

    def __init__(self, script: str, network: Network, service: httpx2.Client) -> None:
        self.script = script
        self.network = network
        self.service = service
        self.head = ""
        super().__init__(("127.0.0.1", 0), ShopHandler)

    def handle_error(self, *_: object) -> None:
        """Print nothing: a page that ends closes its connections."""


class ShopHandler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: ShopServer

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        if "/sdk/" in self.path:
            self.pass_on()
        elif self.path == "/shop.js":
            self.answer(
                200, {"Content-Type": "text/javascript", "Cache-Control": "max-age=3600"}, self.server.script
            )
        else:
            shop = '<div id="root"></div><script src="/shop.js"></script>'
            head, body = (LATER, "") if self.path == "/later" else ("", shop)
            page = f"<!doctype html><html><head>{head}{self.server.head}</head><body>{body}</body></html>"
            self.answer(200, {"Content-Type": "text/html", "Cache-Control": "no-cache"}, page)

    def do_POST(self) -> None:
        self.pass_on()

    def pass_on(self) -> None:
        """Pass a request on to the service, and its answer back, as the network has it."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fate, before, after = self.server.network.fate()
        threading.Event().wait(before)
        if fate == "lost":
            self.close_connection = True
            return
        if fate == "refused":
            self.answer(503, {"Access-Control-Allow-Origin": "*"}, "")
            return
        names = ("Accept-Encoding", "Content-Type", "Origin", "User-Agent", "If-None-Match")
        headers = {name: value for name in names if (value := self.headers.get(name))}
        with self.server.service.stream(self.command, self.path, content=body, headers=headers) as found:
            content = b"".join(found.iter_raw())
        threading.Event().wait(after)
        if fate == "unanswered":
            self.close_connection = True
            return
        kept = {name: value for name in HEADERS if (value := found.headers.get(name))}
        self.answer(found.status_code, kept, content)

    def answer(self, status: int, headers: dict[str, str], body: str | bytes) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
