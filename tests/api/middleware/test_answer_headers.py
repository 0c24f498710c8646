"""Headers that middleware adds to answers."""

from typing import Any

from api.middleware.answer_headers import raw_headers, set_headers


def test_a_header_replaces_all_of_its_name_and_no_other() -> None:
    start: dict[str, Any] = {"headers": [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]}
    set_headers(start, raw_headers({"A": "4", "C": "5"}))
    assert start["headers"] == [(b"b", b"2"), (b"a", b"4"), (b"c", b"5")]


def test_the_headers_of_a_kept_response_stay_as_they_are() -> None:
    kept = [(b"a", b"1")]
    set_headers({"headers": kept}, raw_headers({"B": "2"}))
    assert kept == [(b"a", b"1")]
