"""How a record is judged by its class, plain or built."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest

from engine.errors import InvalidDesignError, Problem
from engine.validation.records import (
    Record,
    RecordRule,
    keys_of,
    problems_in,
    records_of,
    unknown_keys,
    validate,
)
from engine.validation.values import text, whole


def _low_below_high(record: Record) -> Iterator[Problem]:
    if record.get("low", 0) > record.get("high", 99):
        yield Problem("high", "is below low")


@dataclass(frozen=True, kw_only=True)
class Span:
    """A record with a rule between its fields."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_low_below_high,)

    name: Annotated[str, text(5)]
    low: Annotated[int, whole(0, 99)] = 0
    high: Annotated[int, whole(0, 99)] = 99

    def __post_init__(self) -> None:
        validate(self)


def fields_of(record: dict[str, Any]) -> list[str]:
    return [problem.field for problem in problems_in(record, Span)]


def test_plain_and_built_are_judged_alike() -> None:
    with pytest.raises(InvalidDesignError) as error:
        Span(name="toolong", low=5, high=4)
    assert fields_of({"name": "toolong", "low": 5, "high": 4}) == ["name", "high"]
    assert [problem.field for problem in error.value.problems] == ["name", "high"]


def test_a_missing_field_is_a_problem_unless_it_has_a_default() -> None:
    assert [problem.message for problem in problems_in({}, Span)] == ["is required"]
    assert fields_of({"name": "x"}) == []


def test_rules_between_fields_see_sound_fields_and_defaults_only() -> None:
    assert fields_of({"name": "x", "low": "many", "high": 4}) == ["low"]
    assert fields_of({"name": "x", "low": 5, "high": None}) == ["high"]


def test_a_list_holds_built_and_plain_records_side_by_side() -> None:
    check = records_of(Span, at_most=3, name="span")
    assert list(check([Span(name="a"), {"name": "b"}])) == []
    found = [(problem.field, problem.message) for problem in check([Span(name="a"), {"nam": "b"}, 3])]
    assert found == [
        ("[1].name", "is required"),
        ("[1].nam", "'nam' is no field of a span; did you mean name?"),
        ("[2]", "must be an object, not 3"),
    ]
    assert [problem.message for problem in check([{}] * 4)] == ["holds 4 spans; at most 3 are possible"]


def test_an_object_of_known_keys_may_hold_nulls_where_nothing_is_required() -> None:
    check = keys_of({"a": text(5), "b": text(5)}, required=["a"], what="the pair")
    assert list(check({"a": "x", "b": None})) == []
    assert [problem.field for problem in check({"a": None, "c": 1})] == ["a", "c"]


def test_a_flood_of_unknown_keys_is_reported_in_part() -> None:
    flood = {f"key{i}": 1 for i in range(10_000)}
    assert len(list(unknown_keys(flood, ["name"], "a span"))) == 20


def test_no_more_is_looked_for_after_a_thousand_problems_of_a_field() -> None:
    looked_at = []

    def look(record: Record) -> Iterator[Problem]:
        looked_at.append(record)
        yield Problem("name", "is wrong")

    @dataclass(frozen=True, kw_only=True)
    class Wrong:
        """A record that is always wrong."""

        RULES: ClassVar[tuple[RecordRule, ...]] = (look,)

    @dataclass(frozen=True, kw_only=True)
    class Wrongs:
        """A list of them."""

        RULES: ClassVar[tuple[RecordRule, ...]] = ()
        items: Annotated[tuple[Wrong, ...], records_of(Wrong, at_most=9_999, name="wrong")]

    assert len(problems_in({"items": [{}] * 900}, Wrongs)) == 900
    looked_at.clear()
    problems = problems_in({"items": [{}] * 9_999}, Wrongs)
    assert (len(problems), problems[-1].field, len(looked_at)) == (1_000, "items[999].name", 1_000)


@pytest.mark.parametrize("key", [7, None, "x" * 10_000, "\ud800", "a\nb"])
def test_a_key_that_cannot_be_a_path_is_shown_in_the_message(key: object) -> None:
    record: Any = {key: 1}
    (problem,) = unknown_keys(record, ["name"], "a span")
    assert problem.field == ""
    assert "is no field of a span; it takes name" in problem.message
