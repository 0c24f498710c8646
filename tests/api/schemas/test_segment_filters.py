"""Segment filters in the query."""

import pytest

from api.schemas.segment_filters import SegmentQuery
from pipeline.results.filters import FILTERS, InvalidFilterError
from pipeline.store.event_columns import DIMENSIONS, OTHER


def test_every_filter_is_a_query_parameter() -> None:
    assert set(SegmentQuery.model_fields) == set(FILTERS)


CLOSED = {name: dimension.values for name, dimension in DIMENSIONS.items() if dimension.values}


def test_the_closed_sets_are_those_of_the_contract() -> None:
    assert set(CLOSED) == {"device_type", "visitor_type", "day_of_week", "visitor_identity"}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_values_are_described_and_others_refused(name: str) -> None:
    described = SegmentQuery.model_json_schema()["properties"][name]
    assert described["enum"] == list(CLOSED[name])
    for value in CLOSED[name]:
        assert SegmentQuery(**{name: value}).filters.segment == {name: value}
    # Where sums from outside have it; `Results` refuses it elsewhere.
    assert SegmentQuery(**{name: OTHER}).filters.segment == {name: OTHER}
    with pytest.raises(InvalidFilterError):
        _ = SegmentQuery(**{name: "unheard of"}).filters
