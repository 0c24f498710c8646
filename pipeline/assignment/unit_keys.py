"""Keys of units in the index of assignments: of a unit, and of a visitor as a member of one."""

from typing import Final

import numpy as np
import polars as pl

from engine.design.units import VISITOR, Unit, unit_id
from engine.validation.sent_ids import id_text
from pipeline.assignment.sorted_pairs import Pairs
from pipeline.events.custom_keys import members_of
from pipeline.events.hashing import hash64
from pipeline.events.text_hashes import hash_texts
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.visitor_history import EXPOSED, FirstPlaces

# Odd, so that no two visitors of a unit have one key, and a visitor whose id is that of the unit has another.
_ODD: Final = 0x9E3779B97F4A7C15
_MASK: Final = 2**64 - 1


def unit_of_row(unit: Unit, row: EventRow) -> str | None:
    """Return the id of the unit that an event tells; None where it tells none."""
    custom = {} if row.custom is None else members_of(row.custom)
    return unit_id(unit, visitor_id=row.visitor_id or "", user_id=row.user_id, attributes=custom)


def key_of_row(unit: Unit, row: EventRow) -> int | None:
    """Return the key of the visitor or unit that an event tells; None where it tells none."""
    if unit == VISITOR:
        return row.visitor_key
    found = unit_of_row(unit, row)
    return None if found is None else hash64(found)


def member_key(visitor_key: int, unit: int) -> int:
    """Return the key of a visitor as a member of the unit of a key."""
    return (visitor_key * _ODD + unit) & _MASK


def pairs_of(found: FirstPlaces) -> Pairs:
    """Return the pairs of stored first assignments; those of units under both of their keys."""
    if found.units is None:
        return Pairs(found.visitor_keys, found.numbers, found.places)
    rows = pl.DataFrame(
        {"key": found.visitor_keys, "number": found.numbers, "place": found.places, "unit": found.units}
    )
    distinct = rows["unit"].drop_nulls().unique()
    ids = pl.Series([id_text(text) for text in distinct], dtype=pl.String)
    keys = pl.DataFrame({"unit": distinct, "unit_key": hash_texts(ids)}).drop_nulls()
    clustered = pl.col("number").is_in(list(found.clustered))
    units = rows.filter(clustered).join(keys, on="unit")
    members = units["key"].to_numpy() * np.uint64(_ODD) + units["unit_key"].to_numpy()
    columns = ["key", "number", "place"]
    pairs = (
        pl.concat(
            [
                rows.filter(~clustered).select(columns),
                units.with_columns(key=pl.Series(members)).select(columns),
                units.select(key="unit_key", number="number", place="place"),
            ]
        )
        .group_by("key", "number")
        .agg(
            place=(pl.col("place") & ~pl.lit(EXPOSED, pl.Int64)).min()
            | (pl.col("place") & pl.lit(EXPOSED, pl.Int64)).max()
        )
        .sort("key")
    )
    return Pairs(*(pairs[name].to_numpy() for name in columns))
