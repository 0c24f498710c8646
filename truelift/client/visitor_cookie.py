"""ASGI middleware: the visitor's cookies set by HTTP, which browsers keep longer than those of a script."""

import re
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

from publicsuffixlist import PublicSuffixList

from truelift.client import assigned_variants
from truelift.client.assigned_variants import AssignedVariants

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE: Final = "truelift_visitor"
# Tells the browser script to leave the visitor's cookie as it is.
MARK: Final = "truelift_by_server"
# 400 days, the longest that browsers keep a cookie.
MAX_AGE_SECONDS: Final = 34_560_000
# A name of at least two labels, the last of which is no number: no IP address.
_DOMAIN: Final = re.compile(r"(?:[a-z0-9_-]+\.)+[a-z0-9-]*[a-z-][a-z0-9-]*")
_VISITOR_ID: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")
# An answer that a shared cache may keep would give one visitor's id to others.
_SHARED: Final = ("public", "s-maxage")


class HasSettings(Protocol):
    """A client that knows the settings of its project."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the project; empty until they are known."""


class VisitorCookie:
    """Gives every visitor an id: `scope["state"]["truelift_visitor"]`, and a cookie in answers with HTML.

    `scope["state"]["truelift_assigned"]` are the `AssignedVariants` of the visitor's cookie, to be given to
    `variant` as `assigned`; an answer with HTML sets the cookie anew, with what was kept before it began.
    With `require_consent`, and where the browser sends a signal that the project respects, a visitor who has
    no cookie gets none: the id in the state is None then. A cookie that is there is kept alive, but not for
    a browser that sends such a signal. Answers that a shared cache may keep are left alone.
    """

    def __init__(self, app: App, client: HasSettings) -> None:
        """Wrap an application; `client` knows the settings of the project."""
        self._app = app
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _decoded(scope["headers"])
        visitor_id = self._visitor_id(headers)
        state = scope.setdefault("state", {})
        state[COOKIE], state[assigned_variants.COOKIE] = visitor_id, None
        if visitor_id is None:
            await self._app(scope, receive, send)
            return
        sent = headers.get("cookie", "")
        assigned = state[assigned_variants.COOKIE] = AssignedVariants(
            next(_values_of(assigned_variants.COOKIE, sent), None),
            is_new_visitor=visitor_id not in _values_of(COOKIE, sent),
        )
        is_secure = scope.get("scheme") == "https"
        domain = cookie_domain(self._client.settings.get("cookie_domain"), headers.get("host", ""))

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                values = {COOKIE: visitor_id, MARK: "1", assigned_variants.COOKIE: assigned.cookie}
                cookies = [
                    _cookie(name, value, domain, is_secure=is_secure)
                    for name, value in values.items()
                    if value
                ]
                message = {**message, "headers": _with_cookies(list(message.get("headers", ())), cookies)}
            await send(message)

        await self._app(scope, receive, send_with_cookie)

    def _visitor_id(self, headers: Mapping[str, str]) -> str | None:
        """Return the id of the cookie, or a new one; None where the visitor may have none."""
        settings = self._client.settings
        if settings.get("respect_gpc") and headers.get("sec-gpc") == "1":
            return None
        if settings.get("respect_dnt") and headers.get("dnt") == "1":
            return None
        sent = _values_of(COOKIE, headers.get("cookie", ""))
        # The first valid one, as the browser script takes it.
        known = next(filter(_VISITOR_ID.fullmatch, sent), None)
        if known is not None:
            return known
        # Until the settings are known, consent may be required.
        return None if not settings or settings.get("require_consent") else str(uuid.uuid4())


def cookie_domain(setting: str | None, host: str) -> str | None:
    """Return the domain of the cookie for a request's host; None for the host alone.

    A browser refuses the domain of the setting on another site of the project: the widest one that may have a
    cookie is taken there, as without a setting. A host of no public domain is that of a proxy.
    """
    name = host.partition(":")[0].lower()
    is_domain = _DOMAIN.fullmatch(name)
    if setting:
        wanted = setting.removeprefix(".").lower()
        is_public = is_domain and _public_suffixes().privatesuffix(name, accept_unknown=False)
        if not is_public or f".{name}".endswith(f".{wanted}"):
            return wanted
    return _public_suffixes().privatesuffix(name) if is_domain else None


@cache
def _public_suffixes() -> PublicSuffixList:
    # Read at the first request.
    return PublicSuffixList()


def _cookie(name: str, value: str, domain: str | None, *, is_secure: bool) -> bytes:
    parts = [f"{name}={value}", "Path=/", f"Max-Age={MAX_AGE_SECONDS}", "SameSite=Lax"]
    if domain:
        parts.append(f"Domain={domain}")
    if is_secure:
        parts.append("Secure")
    return "; ".join(parts).encode("latin-1")


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    decoded: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        # HTTP/2 may send each cookie in a line of its own.
        decoded[name] = f"{decoded[name]}; {value}" if name == "cookie" and name in decoded else value
    return decoded


def _values_of(wanted: str, cookies: str) -> Iterator[str]:
    """Yield the values of a cookie.

    `http.cookies` gives up at cookies of others that it cannot read, such as JSON.
    """
    pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
    return (value for name, _, value in pairs if name == wanted)


def _with_cookies(headers: list[tuple[bytes, bytes]], cookies: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
    by_name = {name.lower(): value.decode("latin-1").lower() for name, value in headers}
    if not by_name.get(b"content-type", "").startswith("text/html"):
        return headers
    caching = by_name.get(b"cache-control")
    if caching is None:
        headers.append((b"cache-control", b"private"))
    elif any(word in caching for word in _SHARED):
        return headers
    return [*headers, *((b"set-cookie", cookie) for cookie in cookies)]
