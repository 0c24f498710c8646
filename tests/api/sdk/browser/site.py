"""A website on localhost, and the service that its script talks to on 127.0.0.1, on one port."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from api.sdk.script_files import snippet_script

DIST = Path(__file__).parents[4] / "api" / "sdk" / "browser" / "dist"
KEY = "pk_test"
Headers = dict[str, str]
Answer = tuple[int, Headers, str]
CORS: Headers = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}


def an_experiment(**fields: Any) -> dict[str, Any]:
    """An experiment of the config: on every page, everybody in the second of two variants."""
    number = fields.pop("number", 1)
    changes = fields.pop("changes", [])
    return {
        "id": f"exp_{number:06}",
        "test_key": f"test-{number}",
        "type": "visual",
        "status": "running",
        "salt": "salt",
        "bucketing_version": 1,
        "traffic": 2**32,
        "thresholds": [0, 2**32],
        "decided_by_server": False,
        "pages": {"include": [{"match_type": "starts_with", "value": "/"}], "exclude": []},
        "targeting": None,
        "trigger": "direct",
        "trigger_selector": None,
        "relay_params": False,
        "page_url": "http://localhost/",
        "custom_css": None,
        "custom_js": None,
        "variants": [
            {"id": f"var_{number:06}a", "is_control": True, "changes": []},
            {"id": f"var_{number:06}b", "is_control": False, "changes": changes},
        ],
    } | fields


def a_change(action: str, value: str = "", selector: str = "h1") -> dict[str, str]:
    return {"selector": selector, "action": action, "value": value}


def a_config(*experiments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    settings = {
        "cookie_domain": None,
        "respect_dnt": False,
        "respect_gpc": False,
        "require_consent": False,
        "consent_source": None,
        "bot_filtering": True,
        "anti_flicker_timeout_ms": 1000,
        "revenue_currency": "USD",
    }
    return {
        "schema": 1,
        "project_id": "prj_1",
        "sdk_key": KEY,
        "hosts": ["localhost"],
        "time_zone": "UTC",
        "settings": settings | fields.pop("settings", {}),
        "integrations": {"ga4": None, "gtm": False},
        "facts": None,
        "clicks": [],
        "ga4_events": [],
        "automata": [],
        "experiments": list(experiments),
        "rollouts": [],
    } | fields


def a_page(body: str = "<h1>Original</h1>", *, head: str = "") -> str:
    return f"<!doctype html><html><head><title>Page</title>{head}</head><body>{body}</body></html>"


def accepted(events: list[dict[str, Any]]) -> Answer:
    results = [{"event_id": event["event_id"], "status": "ok", "code": None} for event in events]
    return 200, {}, json.dumps({"accepted": len(events), "rejected": 0, "results": results})


def refusing(status: int, *, times: int, **headers: str) -> Callable[[list[dict[str, Any]]], Answer | None]:
    """Refuse the first requests with events; without a status they are not answered."""
    left = [times]

    def answer(events: list[dict[str, Any]]) -> Answer | None:
        left[0] -= 1
        return accepted(events) if left[0] < 0 else (status, headers, "{}") if status else None

    return answer


def _answer(text: str, headers: Headers) -> Answer:
    return 200, headers, text


@dataclass
class Site:
    """Pages by path, the config, and what the service was sent."""

    base: str
    service: str
    config: dict[str, Any] = field(default_factory=a_config)
    pages: dict[str, str] = field(default_factory=dict)
    page_headers: Headers = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    gates: dict[str, threading.Event] = field(default_factory=dict)
    answer: Callable[[list[dict[str, Any]]], Answer | None] = accepted
    before_track: Callable[[], None] = lambda: None
    # What a request of a path changes.
    changes: dict[str, Callable[[], None]] = field(default_factory=dict)
    init: Callable[[dict[str, Any]], dict[str, Any]] = field(default=lambda _: {"assignments": []})
    requests: list[tuple[str, str, Headers]] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    timeout_ms: int = 10_000
    blocking: str = 'blocking="render"'
    stub: str = (DIST / "stub.js").read_text()

    def tag(self) -> str:
        source = f"{self.service}/sdk/v1/{KEY}.js"
        return (
            f'<script id="truelift" async {self.blocking} fetchpriority="high" src="{source}" '
            f'data-timeout="{self.timeout_ms}"></script>'
            f"<script>{self.stub}</script>"
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Events of a type, each id once as in a store."""
        by_id = {event["event_id"]: event for event in list(self.received)}
        return [event for event in by_id.values() if event["type"] == kind]

    def exposures(self, *, late: bool = False) -> list[dict[str, Any]]:
        """Exposures that count, or those of pages that were seen before the script came."""
        return [event for event in self.events("exposure") if event.get("late", False) == late]

    def reset(self) -> None:
        """Forget the pages, the config and what was sent."""
        for gate in self.gates.values():
            gate.set()
        fresh = Site(self.base, self.service)
        self.__dict__.update(fresh.__dict__)

    def _script(self) -> str:
        return snippet_script(self.config, json.dumps(self.config).encode()).decode()

    def respond(self, method: str, path: str, headers: Headers, body: str) -> tuple[int, Headers, str]:
        self.requests.append((method, path, headers))
        where = urlsplit(path).path
        if gate := self.gates.get(where):
            gate.wait(30)
        javascript = {**CORS, "Content-Type": "application/javascript"}
        if where == "/api/v1/sdk/track":
            self.before_track()
        self.changes.get(where, lambda: None)()
        answers: dict[str, Callable[[], Answer]] = {
            f"/sdk/v1/{KEY}.js": lambda: (200, javascript, self._script()),
            f"/sdk/v1/{KEY}/preview.js": lambda: (200, javascript, (DIST / "preview.js").read_text()),
            "/api/v1/sdk/config": lambda: (200, {**CORS, "ETag": '"1"'}, json.dumps(self.config)),
            "/api/v1/sdk/track": lambda: self._track(body),
            "/api/v1/sdk/init": lambda: (200, CORS, json.dumps(self.init(json.loads(body)))),
            **{path: partial(_answer, text, javascript) for path, text in self.files.items()},
            **{
                path: partial(_answer, text, {"Content-Type": "text/html", **self.page_headers})
                for path, text in self.pages.items()
            },
        }
        return answers.get(where, lambda: (404, {}, ""))()

    def _track(self, body: str) -> Answer:
        sent = json.loads(body)
        if datetime.fromisoformat(sent["sent_at"]) < self.since:
            # A beacon of the page of an earlier test.
            return accepted(sent["batch"])
        self.bodies.append(sent)
        events = self.bodies[-1]["batch"]
        status, headers, text = self.answer(events) or (0, {}, "")
        if status == 200:
            self.received.extend(events)
        return status, {**CORS, "Content-Type": "application/json", **headers}, text


@contextmanager
def served_site() -> Iterator[Site]:
    """Serve a site until the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def handle_one(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, answered, text = site.respond(self.command, self.path, headers, body)
            if status == 0:
                self.close_connection = True
                return
            content = text.encode()
            self.send_response(status)
            for name, value in {"Cache-Control": "no-cache", **answered}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_one  # noqa: N815 - names of the base class

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Print nothing: a page that ends closes its connections."""

    server = Server(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    site = Site(f"http://localhost:{port}", f"http://127.0.0.1:{port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        site.reset()
        server.shutdown()
        thread.join()
        server.server_close()
