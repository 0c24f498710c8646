"""Which segments a reader of results can choose from."""

from collections import defaultdict

from pipeline.rollup.segments import SegmentValues
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
