import json
import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.bodies.json_body import MAX_DEPTH, MalformedJsonError, read_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(VALUES)
def test_what_one_reader_wrote_another_reads(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert read_json(text.encode()) == value


@given(st.binary())
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with suppress(MalformedJsonError):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "truncated"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ('{"a": 1}'.encode("utf-16"), "malformed"),
        (b'"\xff"', "utf-8"),
        # Half of a surrogate pair, written out and escaped: CESU-8 and JavaScript make them.
        (b'"\xed\xa0\x80"', "utf-8"),
        (b'"\\ud800"', ""),
        (b'"\\udc00\\ud800"', ""),
        (b"NaN", "malformed"),
        (b"-Infinity", "malformed"),
        (b"1e999", "out of range"),
        (b"9" * 5_000, "out of range"),
        (b"01", "malformed"),
        (b"{'a': 1}", "malformed"),
        (b'{"a": 1,}', "malformed"),
        (b"{} {}", "malformed"),
        (b'"\n"', "malformed"),
        (b'{"a": 1, "b": 2, "a": 1}', "'a' more than once"),
        (b'[{"b": {"a": 1, "\\u0061": 2}}]', "'a' more than once"),
    ],
)
def test_what_two_readers_might_read_differently_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(MalformedJsonError, match=f"(?i){why}"):
        read_json(text)


@pytest.mark.parametrize(("opening", "inside", "closing"), [("[", "", "]"), ('{"a":', "{}", "}")])
def test_nesting_is_bounded(opening: str, inside: str, closing: str) -> None:
    def nested(levels: int) -> bytes:
        return (opening * levels + inside + closing * levels).encode()

    own = 1 if inside else 0
    read_json(nested(MAX_DEPTH - own))
    for levels in (MAX_DEPTH - own + 1, 900, 1_100, 100_000):
        with pytest.raises(MalformedJsonError, match="nested"):
            read_json(nested(levels))


def test_unclosed_brackets_are_refused_whatever_their_number() -> None:
    for levels in (1, 100_000, 1_000_000):
        with pytest.raises(MalformedJsonError):
            read_json(b"[" * levels)


def test_large_numbers_are_read_exactly() -> None:
    assert read_json(b"9" * 400) == 10**400 - 1
    assert read_json(b"1e308") == 1e308
    assert math.copysign(1, read_json(b"-0.0")) == -1


@pytest.mark.parametrize("distinct", [1, 100_000])
def test_time_does_not_explode_with_repeated_names(distinct: int) -> None:
    members = ",".join(f'"{number % distinct}":0' for number in range(100_001))
    begun = time.process_time()
    with pytest.raises(MalformedJsonError, match="more than once"):
        read_json(f"{{{members}}}".encode())
    # Comparing each with each would take minutes.
    assert time.process_time() - begun < 5
