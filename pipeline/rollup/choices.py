"""Which segments a reader of results can choose from, and which are not summed up ahead."""

from collections import defaultdict

from pipeline.rollup.segments import MOST_CUSTOM_KEYS, MOST_VALUES, SegmentValues
from pipeline.store import aggregates, visitors
from pipeline.store.frames import Cursor
from pipeline.store.rollups import Published


def segment_choices(cursor: Cursor, experiment_id: str, published: Published) -> dict[str, list[str]]:
    """The values of each dimension that visitors have, in order, custom dimensions as `custom:<key>`.

    Of a dimension with more values than are summed up ahead, those seen first.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for dimension, value in aggregates.read_values(cursor, experiment_id):
        found[dimension].append(value)
    known = SegmentValues(visitors.read_values(cursor, experiment_id))
    for dimension in known.dimensions() - set(published.dimensions):
        found[dimension] = sorted(known.first_values(dimension))
    return found


def dimensions_left_out(cursor: Cursor, experiment_id: str, published: Published) -> dict[str, str]:
    """The dimensions that visitors have and that are not summed up ahead, in order, and why not."""
    known = SegmentValues(visitors.read_values(cursor, experiment_id))
    left_out = {}
    for dimension in sorted(known.dimensions() - set(published.dimensions)):
        count = known.value_count(dimension)
        left_out[dimension] = (
            f"it has {count:,} values, and those of at most {MOST_VALUES} are summed up ahead"
            if count > MOST_VALUES
            else f"of custom dimensions, the first {MOST_CUSTOM_KEYS} by name are summed up ahead"
        )
    return left_out
