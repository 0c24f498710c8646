"""What the targeting fields offer."""

import pytest

from engine.design.targeting.fields import TARGETING_FIELDS, TargetingField

# The contract names these four operators in every example of a field.
EVERYWHERE = {"equals", "not_equals", "in", "not_in"}
# The list of the contract's decisions; those marked there take a key.
NAMES = [
    *("country", "region", "city", "device_type", "browser", "os", "language", "visitor_type"),
    *("visitor_identity", "traffic_source", "referrer", "utm_source", "utm_medium", "utm_campaign", "url"),
    *("query_param", "cookie", "custom_dimension", "day_of_week", "hour_of_day"),
]


def test_the_fields_are_those_of_the_contract() -> None:
    assert list(TARGETING_FIELDS) == NAMES
    keyed = {name for name, field in TARGETING_FIELDS.items() if field.requires_key}
    assert keyed == {"query_param", "cookie", "custom_dimension"}


@pytest.mark.parametrize("field", TARGETING_FIELDS.values(), ids=TARGETING_FIELDS)
def test_every_field_offers_set_operators_and_presence(field: TargetingField) -> None:
    assert set(field.operators) >= EVERYWHERE | {"exists", "not_exists"}
    assert len(set(field.operators)) == len(field.operators)


@pytest.mark.parametrize("field", TARGETING_FIELDS.values(), ids=TARGETING_FIELDS)
def test_an_enumeration_and_only_an_enumeration_lists_its_values(field: TargetingField) -> None:
    assert (field.data_type == "enum") == bool(field.enum_values)


@pytest.mark.parametrize("field", TARGETING_FIELDS.values(), ids=TARGETING_FIELDS)
def test_order_is_offered_only_where_there_may_be_numbers(field: TargetingField) -> None:
    assert ("gt" in field.operators) == (field.data_type == "number" or field.requires_key)
