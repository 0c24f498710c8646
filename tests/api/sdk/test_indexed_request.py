"""Requests whose headers are looked up in a dictionary."""

from starlette.datastructures import Headers

from api.sdk.indexed_request import IndexedHeaders

SCOPE = {"headers": [(b"x-a", b"1"), (b"x-b", b"\xfc"), (b"x-a", b"2")]}


def test_headers_are_found_as_the_framework_finds_them() -> None:
    indexed, searched = IndexedHeaders(SCOPE), Headers(scope=SCOPE)
    for name in ("x-a", "X-B", "x-c"):
        assert indexed.get(name) == searched.get(name)
        assert (name in indexed) == (name in searched)
    assert indexed["X-A"] == "1"
    assert indexed.get("x-c", "none") == "none"
    assert indexed.getlist("x-a") == ["1", "2"]
    assert dict(indexed) == dict(searched)
