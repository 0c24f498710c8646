"""Segment filters in the query."""

import pytest

from api.schemas.segment_filters import SegmentQuery
from engine.vocabulary import SEGMENT_VALUES
from pipeline.results.filters import FILTERS, InvalidFilterError


def test_every_filter_is_a_query_parameter() -> None:
    assert set(SegmentQuery.model_fields) == set(FILTERS)


@pytest.mark.parametrize("name", SEGMENT_VALUES)
def test_closed_values_are_described_and_others_refused(name: str) -> None:
    described = SegmentQuery.model_json_schema()["properties"][name]
    assert described["enum"] == list(SEGMENT_VALUES[name])
    for value in SEGMENT_VALUES[name]:
        assert SegmentQuery(**{name: value}).filters.segment == {name: value}
    with pytest.raises(InvalidFilterError):
        _ = SegmentQuery(**{name: "other"}).filters
