"""What single values must be."""

from datetime import UTC, datetime
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Problem
from engine.validation.check import Check
from engine.validation.values import (
    at,
    in_turn,
    is_web_address,
    list_of,
    number,
    shown,
    text,
    whole,
)


def messages(check: Check, value: object) -> list[str]:
    return [problem.message for problem in check(value)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        ("a", "'a'"),
        ("a" * 100, "'" + "a" * 60 + "…'"),
        (7, "7"),
        (-(2**64), "a number of more than 19 digits"),
        (float("nan"), "nan"),
        ({}, "an object"),
        (MappingProxyType({}), "an object"),
        ([], "a list"),
        (datetime(2026, 1, 1, tzinfo=UTC), "a datetime"),
    ],
)
def test_any_value_is_shown_in_a_few_characters(value: object, expected: str) -> None:
    assert shown(value) == expected


def test_paths_join() -> None:
    inner = [Problem("", "a"), Problem("name", "b"), Problem("[0].x", "c")]
    assert [problem.field for problem in at("root", inner)] == ["root", "root.name", "root[0].x"]
    assert [problem.field for problem in at("", inner)] == ["", "name", "[0].x"]


@given(st.text(), st.booleans())
def test_text_that_is_taken_can_be_stored(value: str, lines: bool) -> None:  # noqa: FBT001  # drawn by hypothesis
    if not messages(text(10_000, lines=lines), value):
        assert "\x00" not in value
        assert value.strip()
        assert lines or not set(value) & set("\n\r\t")


@pytest.mark.parametrize("value", ["naïve café", "日本語", "😀 emoji", "non\u00a0breaking", "\u200f\u05d0"])
def test_text_of_every_script_is_taken(value: str) -> None:
    assert messages(text(100), value) == []


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 10**400, float("nan")])
def test_a_whole_number_is_an_integer_within_its_bounds(value: object) -> None:
    assert messages(whole(0, 9), value)


@pytest.mark.parametrize("value", [True, "1", None, 10**400, float("nan"), float("inf"), -0.1])
def test_a_number_is_finite_and_within_its_bounds(value: object) -> None:
    assert messages(number(0, 9), value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://shop.example", True),
        ("http://localhost:8000/path?x=1#y", True),
        ("https://[2001:db8::1]/", True),
        ("HTTPS://SHOP.EXAMPLE", True),
        ("shop.example", False),
        ("//shop.example", False),
        ("https:///path", False),
        ("https://shop.example:port", False),
        ("https://shop.example:0", False),
        ("https://[::1", False),
        ("https://a b.example", False),
        ("javascript:alert(1)", False),
    ],
)
def test_a_web_address_is_absolute_with_a_host(value: str, *, expected: bool) -> None:
    assert is_web_address(value) is expected


def test_a_list_points_at_each_wrong_item_and_at_repetitions() -> None:
    check = list_of(text(5), at_most=3)
    assert [problem.field for problem in check(["a", 1, ""])] == ["[1]", "[2]"]
    assert [problem.field for problem in check(["a", "b", "a"])] == ["[2]"]
    assert messages(check, ["a"] * 4) == ["holds 4 values; at most 3 are possible"]


def test_the_second_of_two_checks_relies_on_the_first() -> None:
    check = in_turn(text(5), lambda value: [Problem("", "not loud")] if value != value.upper() else [])
    assert messages(check, 7) == ["must be text, not 7"]
    assert messages(check, "a") == ["not loud"]
    assert messages(check, "A") == []
