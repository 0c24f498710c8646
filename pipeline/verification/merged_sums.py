"""Sums of the service with the segment values of few visitors merged, as those of a warehouse are."""

from collections.abc import Mapping

import polars as pl

from pipeline.results.outside.outside_sums import MARKS
from pipeline.store.event_columns import OTHER
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE

_NO_SEGMENTS = (EVERYONE, SINCE_EXPOSURE, "day_of_week")


def merge_small_values(
    cells: pl.DataFrame, products: pl.DataFrame, least: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Merge the values of fewer than `least` visitors; see `pipeline.warehouse.small_values`."""
    visitors = cells.filter(pl.col("goal").is_null() & ~pl.col("dimension").is_in(_NO_SEGMENTS))
    own = pl.col("visitors").filter(~pl.col("variant").is_in([*MARKS])).sum()
    counted = visitors.group_by("dimension", "value").agg(own).sort("dimension", "visitors", "value")
    rows = [
        (dimension, value, name)
        for (dimension,), of_dimension in counted.group_by("dimension", maintain_order=True)
        for value, name in merged_names(
            dict(of_dimension.select("value", "visitors").iter_rows()), least
        ).items()
    ]
    names = pl.DataFrame(rows, ["dimension", "value", "merged"], orient="row")
    return tuple(_merged(table, names) for table in (cells, products))  # type: ignore[return-value]  # two of them


def merged_names(visitors: Mapping[str, int], least: int) -> dict[str, str | None]:
    """Name what each value counts as, of the visitors of each, from the rarest on."""
    if sum(visitors.values()) < least:
        return dict.fromkeys(visitors)
    few = 0
    found: dict[str, str | None] = {}
    for place, (value, number) in enumerate(visitors.items()):
        is_merged = number < least or (place > 0 and few < least)
        found[value] = OTHER if is_merged else value
        few += number
    return found


def _merged(table: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    numbers = [name for name, kind in table.schema.items() if kind.is_integer() and name != "bucket"]
    keys = [name for name in table.columns if name not in numbers]
    known = table.join(names, on=["dimension", "value"], how="left")
    is_segment = ~pl.col("dimension").is_in(_NO_SEGMENTS)
    value = pl.when(is_segment).then("merged").otherwise("value").alias("value")
    kept = known.with_columns(value, pl.col(numbers).fill_null(0)).filter(pl.col("value").is_not_null())
    return kept.group_by(keys).agg(pl.col(numbers).sum()).select(table.columns)
