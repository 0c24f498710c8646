"""Requests whose headers are looked up in a dictionary."""

from typing import Any

from starlette.datastructures import Headers
from starlette.requests import empty_receive

from api.sdk.indexed_request import IndexedRequest

SCOPE: dict[str, Any] = {"type": "http", "headers": [(b"x-a", b"1"), (b"x-b", b"\xfc"), (b"x-a", b"2")]}


def test_headers_are_found_as_the_framework_finds_them() -> None:
    indexed, searched = IndexedRequest(SCOPE, empty_receive).headers, Headers(scope=SCOPE)
    for name in ("x-a", "x-b", "x-c"):
        assert indexed.get(name) == searched.get(name)
        assert (name in indexed) == (name in searched)
    assert indexed["x-a"] == "1"
    assert indexed.get("x-c", "none") == "none"
    assert dict(indexed) == dict(searched)
