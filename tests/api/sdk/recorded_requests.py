"""Requests to the SDK endpoints whose answers are recorded: every method, way in, encoding and error."""

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

RECORDED: Final = Path(__file__).with_name("recorded_answers.json")
TRACK: Final = "/api/v1/sdk/track"
CONVERT: Final = "/api/v1/sdk/convert"
INIT: Final = "/api/v1/sdk/init"
VISITOR: Final = ("203.0.113.7", 4711)
PROXY: Final = ("127.0.0.1", 4711)
JSON: Final = {"content-type": "application/json"}
BROWSER: Final = {**JSON, "x-sdk-key": "{key}"}
SERVER: Final = {**JSON, "authorization": "Bearer {token}"}
DESKTOP: Final = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/124.0 Safari/537.36"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A request as the server hands it over; `{key}` and other names in it are filled in before.

    A body is sent in its parts; the client leaves after them where `leaves` holds.
    """

    target: str = TRACK
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=lambda: BROWSER)
    body: Any = None
    parts: tuple[bytes, ...] | None = None
    client: tuple[str, int] = VISITOR
    leaves: bool = False

    def parts_of(self, names: Mapping[str, str]) -> list[bytes]:
        """Return the body as it is sent."""
        if self.parts is not None:
            return [filled(part.decode("latin-1"), names).encode("latin-1") for part in self.parts]
        return [b"" if self.body is None else filled(json.dumps(self.body), names).encode()]


def filled(text: str, names: Mapping[str, str]) -> str:
    """Replace each `{name}` in a text."""
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def an_event(event_id: str, **fields: Any) -> dict[str, Any]:
    return {"event_id": event_id, "type": "custom_event", "visitor_id": "v1", "event_name": "buy", **fields}


def an_exposure(event_id: str, **fields: Any) -> dict[str, Any]:
    shown = {"experiment_id": "{experiment}", "variant_id": "{variant}"}
    return {"event_id": event_id, "type": "exposure", "visitor_id": "v1", **shown, **fields}


def _batch(*events: Any) -> dict[str, Any]:
    return {"batch": list(events)}


def _sent(**fields: Any) -> RecordedRequest:
    return RecordedRequest(body=_batch(an_event("e1")), **fields)


def _raw(*parts: bytes, **fields: Any) -> RecordedRequest:
    return RecordedRequest(parts=parts, **fields)


_ONE: Final = b'{"batch":[{"event_id":"e1","type":"custom_event","visitor_id":"v1","event_name":"buy"}]}'
_ORDER: Final = {"event_id": "o1", "visitor_id": "v1", "event_name": "order", "revenue_cents": 1999}
_DEFLATER: Final = zlib.compressobj(wbits=-zlib.MAX_WBITS)
_DEFLATED: Final = _DEFLATER.compress(_ONE) + _DEFLATER.flush()
_SEGMENTS: Final = {
    "country": "de",
    "device_type": "mobile",
    "utm_source": "news",
    "referrer": "https://www.google.com/",
    "plan": "pro",
    "custom_dimensions": {"shelf": 3},
}

ACCEPTED: Final[dict[str, RecordedRequest]] = {
    "key in a header": _sent(),
    "key in the query": _sent(target=f"{TRACK}?key={{key}}", headers=JSON),
    "beacon": _sent(target=f"{TRACK}?key={{key}}", headers={"content-type": "text/plain;charset=UTF-8"}),
    "no content type": _sent(headers={"x-sdk-key": "{key}"}),
    "origin and agent": _sent(
        headers={**BROWSER, "origin": "https://shop.example", "user-agent": DESKTOP, "cf-ipcountry": "FR"}
    ),
    "behind a proxy": _sent(
        headers={**BROWSER, "x-forwarded-for": "198.51.100.9, 127.0.0.1", "cf-ipcountry": "FR"}, client=PROXY
    ),
    "gzip": _raw(gzip.compress(_ONE, mtime=0), headers={**BROWSER, "content-encoding": "gzip"}),
    "x-gzip": _raw(gzip.compress(_ONE, mtime=0), headers={**BROWSER, "content-encoding": "X-GZIP"}),
    "zlib": _raw(zlib.compress(_ONE), headers={**BROWSER, "content-encoding": "deflate"}),
    "raw deflate": _raw(_DEFLATED, headers={**BROWSER, "content-encoding": "deflate"}),
    "in parts": _raw(_ONE[:10], _ONE[10:40], b"", _ONE[40:]),
    "half a surrogate pair": _raw(_ONE.replace(b'"v1"', rb'"v\ud83d"')),
    "white space": _raw(_ONE.replace(b",", b" , ").replace(b":", b" :\n")),
    "server, project in the query": _sent(target=f"{TRACK}?project_id={{project}}", headers=SERVER),
    "server, project in the body": RecordedRequest(
        body={**_batch(an_event("e1")), "project_id": "{project}"}, headers=SERVER
    ),
    "no events": RecordedRequest(body=_batch()),
    "every type": RecordedRequest(
        body=_batch(
            an_exposure("t1", attributes=_SEGMENTS),
            {
                "event_id": "t2",
                "type": "pageview",
                "visitor_id": "v1",
                "url": "https://shop.example/?utm_source=x",
            },
            {"event_id": "t3", "type": "click", "visitor_id": "v1", "selector": "#buy"},
            an_event("t4", type="ga4_event", value=2.5),
            {"event_id": "t5", "type": "identify", "visitor_id": "v1", "user_id": "u1"},
            an_exposure("t6", late=True),
        )
    ),
    "rejected events": RecordedRequest(
        body=_batch(
            an_event("r1", visitor_id="undefined"),
            an_event("r2", type="banana"),
            an_exposure("r3", experiment_id="exp_none"),
            an_exposure("r4", variant_id="var_none"),
            an_event("r5", timestamp="yesterday"),
            an_event("r6", timestamp="2020-01-01T00:00:00Z"),
            an_event("r7", value=1e16),
            an_event("r8", attributes={"plan": ["a"]}),
            an_event("r9", event_name=7),
            an_event("r10", selector="x" * 2_001),
            {"type": "custom_event"},
            ["no", "object"],
            an_event("r12"),
        )
    ),
    "rejected for a repeated member": _raw(_ONE.replace(b'"v1"', b'"v1","visitor_id":"v2"')),
    "too large an event": RecordedRequest(body=_batch(an_event("e1", url="x" * 40_000), an_event("e2"))),
    "many events": RecordedRequest(body=_batch(*(an_event(f"m{number}") for number in range(250)))),
    "a conversion": RecordedRequest(target=CONVERT, body=_ORDER),
    "a batch of conversions": RecordedRequest(
        target=CONVERT,
        body=_batch(
            {**_ORDER, "event_id": "c1", "currency": "usd", "transaction_id": "t1"},
            {**_ORDER, "event_id": "c2", "kind": "refund"},
            {**_ORDER, "event_id": "c3", "goal_id": "goal_none"},
            {**_ORDER, "event_id": "c4", "revenue_cents": -1},
            {**_ORDER, "event_id": "c5", "currency": "dollars"},
            {**_ORDER, "event_id": "c6", "revenue_cents": 10**14},
            {**_ORDER, "event_id": "c7", "kind": "gift"},
        ),
    ),
    "too large a conversion": RecordedRequest(
        target=CONVERT, body={**_ORDER, "attributes": {"a": "x" * 70_000}}
    ),
    "a visit": RecordedRequest(target=INIT, body={"visitor_id": "{treated}", "url": "https://shop.example/"}),
    "the same visit": RecordedRequest(
        target=INIT, body={"visitor_id": "{treated}", "url": "https://shop.example/"}
    ),
    "a visit without an id": RecordedRequest(
        target=INIT, body={"assignments": {"{experiment}": "{variant}"}}
    ),
    "a visit of a server": RecordedRequest(
        target=INIT,
        body={"visitor_id": "{treated}", "user_id": "u3", "project_id": "{project}"},
        headers=SERVER,
    ),
}

REFUSED: Final[dict[str, RecordedRequest]] = {
    "no key": _sent(headers=JSON),
    "an unknown key": _sent(headers={**JSON, "x-sdk-key": "pk_none"}),
    "an unknown key in the query": _sent(target=f"{TRACK}?key=svc_live_abc_secret&x=1", headers=JSON),
    "another scheme": _sent(headers={**JSON, "authorization": "Basic {token}"}),
    "a wrong token": _sent(headers={**JSON, "authorization": "Bearer svc_live_abc_def"}),
    "no scope": _sent(headers={**JSON, "authorization": "Bearer {reader}"}),
    "no project": _sent(headers=SERVER),
    "a project out of reach": _sent(target=f"{TRACK}?project_id=prj_none", headers=SERVER),
    "a project of another key": _sent(
        target=f"{TRACK}?project_id={{project}}", headers={**JSON, "authorization": "Bearer {restricted}"}
    ),
    "a page on another host": _sent(
        headers={**JSON, "x-sdk-key": "{own_hosts_key}", "origin": "https://x.example"}
    ),
    "no page": _sent(headers={**JSON, "x-sdk-key": "{own_hosts_key}"}),
    "an empty body": RecordedRequest(),
    "no JSON": _raw(b"batch=1"),
    "JSON cut short": _raw(_ONE[:-3]),
    "no object": RecordedRequest(body=[1]),
    "a repeated member": _raw(b'{"batch":[],"batch":[]}'),
    "a byte order mark": _raw(b"\xef\xbb\xbf" + _ONE),
    "no UTF-8": _raw(_ONE.replace(b"v1", b"\xff")),
    "deep nesting": _raw(b'{"batch":' + b"[" * 200 + b"]" * 200 + b"}"),
    "no batch": RecordedRequest(body={}),
    "another type of batch": RecordedRequest(body={"batch": {}}),
    "a wrong time of sending": RecordedRequest(body={**_batch(), "sent_at": "noon"}),
    "too many events": RecordedRequest(body=_batch(*({} for _ in range(501)))),
    "much beside the events": RecordedRequest(body={"batch": [], "x": [1] * 40_000}),
    "a large body": _raw(b'{"batch":["', b"x" * 2**20, b'"]}'),
    "a body declared large": _sent(headers={**BROWSER, "content-length": "1048577"}),
    "another media type": _sent(headers={"x-sdk-key": "{key}", "content-type": "application/xml"}),
    "another encoding": _sent(headers={**BROWSER, "content-encoding": "br"}),
    "no gzip": _sent(headers={**BROWSER, "content-encoding": "gzip"}),
    "gzip cut short": _raw(
        gzip.compress(_ONE, mtime=0)[:-5], headers={**BROWSER, "content-encoding": "gzip"}
    ),
    "a decompression bomb": _raw(
        gzip.compress(bytes(2**21), mtime=0), headers={**BROWSER, "content-encoding": "gzip"}
    ),
    "no conversion": RecordedRequest(target=CONVERT, body=[]),
    "a wrong visit": RecordedRequest(target=INIT, body={"visitor_id": 7}),
    "wrong attributes of a visit": RecordedRequest(target=INIT, body={"attributes": {"a": [1]}}),
    "a large visit": _raw(b'{"visitor_id":"' + b"x" * 2**16 + b'"}', target=INIT),
    "left before the body": RecordedRequest(parts=(), leaves=True),
    "left within the body": RecordedRequest(parts=(b'{"batch":[',), leaves=True),
}

_SENDERS: Final = {"a browser": BROWSER, "a server": SERVER, "a stranger": JSON}
METHODS: Final[dict[str, RecordedRequest]] = {
    **{
        f"{method} of {sender}": RecordedRequest(method=method, headers=headers)
        for sender, headers in _SENDERS.items()
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE")
    },
    **{
        f"{method} {target}": RecordedRequest(method=method, target=target)
        for target in (CONVERT, INIT)
        for method in ("GET", "HEAD", "OPTIONS")
    },
    **{
        f"preflight of {target}": RecordedRequest(
            method="OPTIONS",
            target=target,
            headers={
                "origin": "https://shop.example",
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-type,x-sdk-key",
            },
        )
        for target in (TRACK, CONVERT, INIT, "/api/v1/sdk/nothing")
    },
}

PATHS: Final[dict[str, RecordedRequest]] = {
    path: _sent(target=path)
    for path in (
        "/api/v1/sdk%2Ftrack",
        "/api/v1/sdk%2ftrack",
        "/api/v1/sdk/%74rack",
        "/api/v1/sdk/track/",
        "/api/v1/sdk//track",
        "/api/v1/sdk/Track",
        "/api/v1/sdk/track/x",
        "/api/v1/sdk/nothing",
        "/api/v1/sdk/",
        "/api/v1/sdk",
        "/sdk/track",
        "/api/v1/sdk/track?x=%2F&key=nothing",
    )
}

# Requests to a service that has one more, or none, to give.
LIMITED: Final[dict[str, RecordedRequest]] = {
    "the last request of the minute": _sent(),
    "one request too many": _sent(),
    "one request of a server too many": _sent(target=f"{TRACK}?project_id={{project}}", headers=SERVER),
    "one visit too many": RecordedRequest(target=INIT, body={}),
    "a wrong method too many": RecordedRequest(method="GET"),
}
QUOTAS: Final[dict[str, RecordedRequest]] = {
    "more events than a quota, first": RecordedRequest(body=_batch(*(an_event(f"q{n}") for n in range(4)))),
    "events beyond the quota": _sent(),
    "a server beyond the quota of browsers": _sent(target=f"{TRACK}?project_id={{project}}", headers=SERVER),
}
UNPAID: Final[dict[str, RecordedRequest]] = {
    "unpaid, a browser": _sent(),
    "unpaid, a server": _sent(target=f"{TRACK}?project_id={{project}}", headers=SERVER),
    "unpaid, another method": RecordedRequest(method="GET"),
}
BROKEN: Final[dict[str, RecordedRequest]] = {
    "an unexpected error": _sent(headers={**JSON, "x-sdk-key": "pk_unseen"}),
    "an unexpected error of another path": _sent(
        target="/api/v1/sdk/nothing", headers={**JSON, "x-sdk-key": "pk_unseen"}
    ),
}
STOPPED: Final[dict[str, RecordedRequest]] = {
    "a stopped ingest": _sent(),
    "a stopped ingest, a visit": RecordedRequest(target=INIT, body={"visitor_id": "v9"}),
    "a stopped ingest, a conversion": RecordedRequest(target=CONVERT, body=_ORDER),
}
ALL: Final = {
    **ACCEPTED,
    **REFUSED,
    **METHODS,
    **PATHS,
    **LIMITED,
    **QUOTAS,
    **UNPAID,
    **BROKEN,
    **STOPPED,
}
