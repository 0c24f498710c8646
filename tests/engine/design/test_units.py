from typing import Any

import pytest

from engine.design.units import (
    CUSTOM_OBJECTS,
    AttributeUnit,
    Unit,
    is_clustered,
    unit_attribute,
    unit_id,
    unit_name,
)
from engine.errors import InvalidDesignError
from pipeline.events.attributes import KNOWN_ATTRIBUTES
from tests.builders import an_experiment

ACCOUNT = AttributeUnit(attribute="account")


def id_of(unit: Unit, user_id: str | None = None, **attributes: Any) -> str | None:
    return unit_id(unit, visitor_id="v1", user_id=user_id, attributes=attributes)


def test_the_id_is_that_of_the_visitor_the_user_or_the_attribute() -> None:
    assert id_of("visitor", "u1", account="acme") == "v1"
    assert id_of("user", "u1", account="acme") == "u1"
    assert id_of(ACCOUNT, "u1", account="acme") == "acme"
    assert id_of(ACCOUNT, "u1", custom_dimensions={"account": 12}, account="acme") == "12"


def test_a_visitor_without_the_id_has_none() -> None:
    assert id_of("user", account="acme") is None
    assert id_of(ACCOUNT, "u1") is None
    assert id_of(ACCOUNT, "u1", account=True) is None


def test_a_unit_has_a_name_and_may_have_several_visitors_unless_it_is_one() -> None:
    units: list[Unit] = ["visitor", "user", ACCOUNT]
    assert [unit_name(unit) for unit in units] == ["visitor", "user", "account"]
    assert [is_clustered(unit) for unit in units] == [False, True, True]
    assert [unit_attribute(unit) for unit in units] == [None, None, "account"]


@pytest.mark.parametrize("key", sorted({*KNOWN_ATTRIBUTES, *CUSTOM_OBJECTS}))
def test_what_the_service_reads_itself_is_no_id_of_a_unit(key: str) -> None:
    with pytest.raises(InvalidDesignError, match="is an attribute that the service reads"):
        AttributeUnit(attribute=key)


@pytest.mark.parametrize(
    ("unit", "field"),
    [
        ("account", "unit"),
        (None, "unit"),
        (["user"], "unit"),
        ({}, "unit.attribute"),
        ({"attribute": " "}, "unit.attribute"),
        ({"attribute": "country"}, "unit.attribute"),
        ({"attribute": "account", "key": "x"}, "unit.key"),
    ],
)
def test_an_experiment_with_another_unit_cannot_be_built(unit: object, field: str) -> None:
    with pytest.raises(InvalidDesignError) as error:
        an_experiment(unit=unit)
    assert [problem.field for problem in error.value.problems] == [field]
