import pytest

from pipeline.results.filters import InvalidFilterError, SegmentFilters, validate_dimension


def test_other_parameters_of_a_request_are_no_filters() -> None:
    query = {"country": "DE", "page": "2", "os": None}
    assert SegmentFilters.from_query(query).segment == {"country": "DE"}


def test_a_custom_dimension_is_named_by_its_key() -> None:
    filters = SegmentFilters({"custom_dimension_key": "plan", "custom_dimension_value": "gold"})
    assert filters.segment == {"custom:plan": "gold"}


@pytest.mark.parametrize("given", [{"device_type": "fridge"}, {"custom_dimension_key": "plan"}])
def test_filters_without_meaning_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidFilterError):
        SegmentFilters(given)


@pytest.mark.parametrize("name", ["shoe_size", "custom:"])
def test_unknown_dimensions_are_refused(name: str) -> None:
    with pytest.raises(InvalidFilterError, match="is none of"):
        validate_dimension(name)
