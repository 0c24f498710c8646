"""Targeting fields in answers."""

import pytest

from api.schemas.capabilities import TargetingField
from engine.design.targeting.fields import TARGETING_FIELDS


@pytest.mark.parametrize("name", TARGETING_FIELDS)
def test_a_targeting_field_is_described_whole(name: str) -> None:
    field = TARGETING_FIELDS[name]
    described = TargetingField.of(field)
    assert described.operators == list(field.operators)
    assert described.enum_values == (list(field.enum_values) if field.enum_values else None)
    assert (described.data_type == "enum") == (described.enum_values is not None)
