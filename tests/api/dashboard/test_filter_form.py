"""Filters: the form has every available value, and keeps the chosen one."""

from api.dashboard.filter_form import Filter, filters_of
from api.schemas.segment_filters import AvailableSegments, SegmentQuery


def test_every_filter_is_a_parameter_of_the_results_and_every_value_has_one() -> None:
    available = {name: ["a value"] for name in AvailableSegments.model_fields}
    offered = {one.parameter for one in filters_of(available, {})}
    assert offered == set(SegmentQuery.model_fields) - {"custom_dimension_key", "custom_dimension_value"}
    assert len(offered) == len(available) - len({"custom_dimensions"})


def test_a_chosen_value_stays_where_no_visitor_has_it() -> None:
    available = {"countries": ["DE", "US"], "browsers": []}
    assert filters_of(available, {}) == [Filter("country", ("DE", "US"), None)]
    assert filters_of(available, {"browser": "Lynx"}) == [
        Filter("country", ("DE", "US"), None),
        Filter("browser", ("Lynx",), "Lynx"),
    ]
