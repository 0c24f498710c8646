"""Requests of every route at their largest, made from the routes and from the OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from api.bodies.event_body import VISIT
from api.bodies.json_body import MAX_VALUES
from api.bodies.reader import MAX_BODY_BYTES
from api.dashboard.drafts.form_fields import FIELDS
from api.dashboard.drafts.form_rows import MOST_ROWS
from api.dashboard.forms import ENCODED, PUBLIC_BYTES, PUBLIC_FIELDS
from api.mcp.endpoint import MAX_MESSAGE_BYTES
from tests.api.largest.widest_json import widest

JSON: Final = {"Content-Type": "application/json"}
FORM: Final = {"Content-Type": ENCODED}
# Each of a length that leaves room for the others in a head of 64 KiB.
LONG_HEADERS: Final = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)" * 250,
    "Accept-Language": "de-AT;q=0.5," * 700,
    "Accept-Encoding": "gzip;q=0.1," * 700,
    "If-None-Match": 'W/"x",' * 1300,
    "Referer": "https://shop.example/" + "x" * 8000,
}
LONG_QUERY: Final = "&".join(f"utm_source={'x' * 50}{number}" for number in range(100)) + "&page=1"
_PLACE: Final = re.compile(r"{([a-z_]+)}")
NOBODY: Final = "nobody"
# Of routes with forms.
DRAFTS: Final = ("/experiments/new", "/edit")
PUBLIC: Final = ("/sign-in",)
WIDE_FORM: Final = {f"variants[{number}].changes[499].value": "" for number in range(100)}


@dataclass(frozen=True, slots=True)
class LargestRequest:
    """A request of a route, and who sends it: a key, a public key or a browser that is signed in."""

    method: str
    path: str
    sender: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    route: str = ""

    @property
    def name(self) -> str:
        """The route, the sender and the number of bytes."""
        return f"{self.method} {self.route} {self.sender} {len(self.content)}"


def largest_requests(app: FastAPI, ids: Mapping[str, str]) -> Iterator[LargestRequest]:
    """Make the requests of every route; `ids` are those of a path by their names, and tokens."""
    document = app.openapi()
    for context in iter_route_contexts(app.state.operations()):
        route = str(context.path)
        for method in sorted(set(context.methods or ()) - {"HEAD"}):
            for request in _of_route(method, route, _filled(route, method, ids), document, ids):
                yield replace(request, route=route)


def _of_route(
    method: str, route: str, path: str, document: Mapping[str, Any], ids: Mapping[str, str]
) -> Iterator[LargestRequest]:
    if route in document["paths"]:
        described = document["paths"][route][method.lower()]
        yield from _of_operation(method, path, described, document["components"]["schemas"])
    elif route.startswith("/mcp/"):
        yield from _messages(path, ids)
    elif route.startswith("/ofrep/"):
        yield _request(method, path, "page", JSON, _visit("context"))
    else:
        yield from _of_browser(method, path)


def _filled(path: str, method: str, ids: Mapping[str, str]) -> str:
    """Put ids into a path: of the objects where they are read or sent content, else of nobody."""
    changes_draft = method == "PATCH" or path.endswith("/edit")
    own = NOBODY
    if path.endswith("/projects/{id}") or (method == "GET" and "/projects/{id}/" in path):
        own = ids["project_id"]
    elif "/experiments/{id}" in path:
        own = ids["draft"] if changes_draft else ids["experiment"]
    # What ends an object, or moves its life, has no content.
    if method == "DELETE" or (method == "POST" and "/{id}/" in path):
        own = NOBODY
    known = {**ids, "id": own, "experiment_id": ids["draft" if changes_draft else "experiment"]}
    return _PLACE.sub(lambda place: known.get(place[1], NOBODY), path)


def _of_operation(
    method: str, path: str, described: Mapping[str, Any], components: Mapping[str, Any]
) -> Iterator[LargestRequest]:
    sender = "page" if any("sdk_key" in one for one in described.get("security", ())) else "key"
    content = described.get("requestBody", {}).get("content", {})
    if schema := content.get("application/json", {}).get("schema"):
        most = VISIT[1] if path.endswith("/init") else MAX_BODY_BYTES
        body = widest(schema, components, most_bytes=most, most_values=MAX_VALUES)
        yield _request(method, path, sender, JSON, body)
        # As little as makes as much wrong as there can be.
        yield _request(method, path, sender, JSON, WRONG)
    for file in content.keys() - {"application/json"}:
        yield _request(method, path, sender, {"Content-Type": file}, b"a,b\n" * (MAX_BODY_BYTES // 2))
    if not content:
        yield _request(method, path + ("?" + LONG_QUERY if method == "GET" else ""), sender)


_CHANGES: Final = [{f"{number}{key}": 1 for key in range(6)} for number in range(480)]
_GOALS: Final = [{"config": {f"{key}": 1 for key in range(20)}} for _ in range(50)]
WRONG: Final = json.dumps(
    {"variants": [{"changes": _CHANGES}] * 19, "goals": _GOALS, "batch": [{}] * 500}
).encode()


def _visit(key: str) -> bytes:
    attributes = {f"key{number}": "x" * 1200 for number in range(49)}
    return json.dumps({key: {"targetingKey": "v", "user_id": "u", **attributes}}).encode()


def _messages(path: str, ids: Mapping[str, str]) -> Iterator[LargestRequest]:
    def message(method: str, **parameters: Any) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()

    def call(name: str, **arguments: Any) -> bytes:
        return message("tools/call", name=name, arguments=arguments)

    about = {"project_id": ids["project_id"], "experiment_id": ids["experiment"]}
    for content in (
        message("tools/list"),
        call("get_experiment", **about),
        call("create_experiment", project_id=ids["project_id"], variants=[[]] * 300_000),
        call("create_experiment", project_id=ids["project_id"], **json.loads(WRONG)),
        call("x" * (MAX_MESSAGE_BYTES - 200)),
        b'{"a":' * (MAX_MESSAGE_BYTES // 5),
    ):
        accepted = {"Accept": "application/json, text/event-stream"}
        yield _request("POST", path, "key", {**JSON, **accepted}, content)


def _of_browser(method: str, path: str) -> Iterator[LargestRequest]:
    """Make requests of pages and forms: by a browser that may all, and by one that may only read."""
    if method == "GET":
        yield _request(method, f"{path}?{LONG_QUERY}", "browser")
        return
    first, *others = _forms()
    yield _request(method, path, "browser", FORM, first)
    # One reader reads the forms of all routes; what it has read is the most work to drafts, and strangers
    # may send the least.
    if path.endswith(DRAFTS + PUBLIC):
        for content in others:
            yield _request(method, path, "browser", FORM, content)
        yield _request(method, path, "reader", FORM, first)


@cache
def _forms() -> tuple[bytes, ...]:
    forms = (
        urlencode(WIDE_FORM),
        urlencode(_rows(20_000 - 2)),
        urlencode({"name": "x" * (MAX_BODY_BYTES - 200)}),
        urlencode(
            {f"{number}": "x" * (PUBLIC_BYTES // PUBLIC_FIELDS - 10) for number in range(PUBLIC_FIELDS)}
        ),
        urlencode({"control": "9999", "primary": "9" * 5000, "action": "add:variants[9999].changes"}),
    )
    return tuple(form.encode() for form in forms)


def _rows(most: int) -> dict[str, str]:
    """Return the fields of a draft with as many rows as the API takes, of few bytes each."""
    fields: dict[str, str] = {}
    for pattern in FIELDS:
        paths = [""]
        *lists, last = pattern.split("[]")
        for depth, name in enumerate(lists):
            count = MOST_ROWS["[]".join(lists[: depth + 1])]
            paths = [f"{path}{name}[{index}]" for path in paths for index in range(count)]
        fields |= dict.fromkeys((path + last for path in paths), "")
    # The rows of lists are whole, from the first one on.
    kept = sorted(fields, key=lambda path: "changes" in path)[:most]
    short = {path: "" for path in kept if len(path) < 40}
    while len(urlencode(short)) > MAX_BODY_BYTES - 2000:
        short = dict(list(short.items())[: len(short) * 9 // 10])
    return short


def _request(
    method: str, path: str, sender: str, headers: Mapping[str, str] | None = None, content: bytes = b""
) -> LargestRequest:
    return LargestRequest(method, path, sender, {**LONG_HEADERS, **(headers or {})}, content)
