"""First variant of each visitor, from assignment and exposure events, and visitors with exposures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import has_table, table_name


@dataclass(frozen=True, slots=True)
class FirstVariants:
    """Visitors in the order of their keys, the position of each one's first variant and its `seq`."""

    visitor_keys: npt.NDArray[np.uint64]
    variants: npt.NDArray[np.uint8]
    seqs: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentQuery:
    """Query for visitors of one experiment, in events after one sequence number up to another.

    Events before the start, such as a preview of the draft, do not assign.
    """

    project_id: str
    experiment_id: str
    variant_ids: Sequence[str]
    started_us: int
    after_seq: int
    up_to_seq: int


def first_variants(warehouse: Warehouse, query: AssignmentQuery) -> FirstVariants:
    """Find the first variant of each visitor, as positions in `query.variant_ids`, ignoring others."""
    statement = f"""
        SELECT visitor_key, arg_min(list_position($variants, variant_id) - 1, seq)::UTINYINT AS variant,
          min(seq) AS seq
        FROM "{table_name(query.project_id)}"
        WHERE seq > $after AND seq <= $up_to AND experiment_id = $experiment AND received_at >= $started
          AND type IN ('assignment', 'exposure') AND not_counted IS NULL
          AND list_contains($variants, variant_id)
        GROUP BY visitor_key
        ORDER BY visitor_key
    """
    with warehouse.cursor() as cursor:
        if not has_table(cursor, query.project_id):
            return FirstVariants(np.empty(0, np.uint64), np.empty(0, np.uint8), np.empty(0, np.int64))
        columns = cursor.execute(statement, _values_of(query)).fetchnumpy()
    return FirstVariants(
        np.asarray(columns["visitor_key"], np.uint64),
        np.asarray(columns["variant"], np.uint8),
        np.asarray(columns["seq"], np.int64),
    )


def exposed_visitors(warehouse: Warehouse, query: AssignmentQuery) -> npt.NDArray[np.uint64]:
    """Find the visitors with exposures that count, in the order of their keys."""
    statement = f"""
        SELECT DISTINCT visitor_key FROM "{table_name(query.project_id)}"
        WHERE seq > $after AND seq <= $up_to AND experiment_id = $experiment AND received_at >= $started
          AND type = 'exposure' AND not_counted IS NULL AND list_contains($variants, variant_id)
        ORDER BY visitor_key
    """
    with warehouse.cursor() as cursor:
        if not has_table(cursor, query.project_id):
            return np.empty(0, np.uint64)
        columns = cursor.execute(statement, _values_of(query)).fetchnumpy()
    return np.asarray(columns["visitor_key"], np.uint64)


def _values_of(query: AssignmentQuery) -> dict[str, object]:
    return {
        "variants": list(query.variant_ids),
        "after": query.after_seq,
        "up_to": query.up_to_seq,
        "experiment": query.experiment_id,
        "started": query.started_us,
    }
