from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest

from engine.errors import InvalidDesignError
from engine.validation.input_records import read_record
from engine.validation.records import RecordRule
from engine.validation.values import text, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A record whose fields are all the caller's."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    item: Annotated[str, text(10)]
    number: Annotated[int, whole(1, 9)] = 1


def test_a_record_has_what_is_sent_and_defaults() -> None:
    assert read_record({"item": "tent"}, Order, "an order") == Order(item="tent", number=1)


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({}, {"item"}),
        ({"item": "tent", "number": 10}, {"number"}),
        ({"item": 5, "nmber": 2}, {"item", "nmber"}),
        (["tent"], {"body"}),
    ],
)
def test_every_problem_of_what_is_sent_is_named(fields: object, refused: set[str]) -> None:
    with pytest.raises(InvalidDesignError) as error:
        read_record(fields, Order, "an order")
    assert {problem.field for problem in error.value.problems} == refused
