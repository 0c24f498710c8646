"""Segment dimensions against the parts that must follow them."""

from engine.vocabulary import SEGMENT_VALUES
from pipeline.results.filters import FILTERS
from pipeline.store.warehouse.events import EVENT_SCHEMA
from pipeline.store.warehouse.segment_dimensions import DIMENSIONS


def test_every_dimension_is_a_filter_of_results() -> None:
    assert DIMENSIONS
    assert set(DIMENSIONS) <= set(FILTERS)


def test_events_carry_every_dimension_but_the_day_which_is_derived() -> None:
    assert set(DIMENSIONS) - set(EVENT_SCHEMA) == {"day_of_week"}


def test_closed_sets_of_values_are_of_dimensions() -> None:
    assert set(SEGMENT_VALUES) <= set(DIMENSIONS)
