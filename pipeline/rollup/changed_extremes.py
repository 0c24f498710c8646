"""Changes of extremes by rows of visitors that go and come, exactly as if all rows were read again."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from engine.analysis.evidence.largest_visitors import MOST
from pipeline.rollup.changed_rows import VisitorRows
from pipeline.store.warehouse import extremes
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.extremes import KeptGoals
from pipeline.store.warehouse.visitors import column_of

_CELL: Final = ["experiment", "kind", "goal", "variant", "number"]
_COUNTED: Final = [*_CELL, "senders"]
_EXPERIMENT: Final = {"experiment": pl.UInt16}


def change(
    cursor: Cursor,
    ids: Sequence[str],
    kept: Sequence[KeptGoals],
    removed: VisitorRows,
    added: VisitorRows,
) -> None:
    """Change what is kept of experiments by rows that their tables have lost and got; fill in what is not."""
    changed = pl.concat([removed.visitors["experiment"], added.visitors["experiment"]]).unique().to_list()
    known = []
    for number, experiment_id in enumerate(ids):
        if not extremes.are_kept(cursor, experiment_id):
            extremes.fill(cursor, experiment_id, kept[number])
        elif number in changed:
            known.append(number)
    if not known:
        return
    is_known = pl.col("experiment").is_in(known)
    rows = pl.concat(
        [part.visitors.filter(is_known) for part in (added.signed(1), removed.signed(-1))],
        how="diagonal_relaxed",
    )
    values = _values_of(rows, kept)
    counts = dict(_by_experiment(_count(rows, values, kept)))
    lists = pl.concat([_of(number, extremes.read_lists(cursor, ids[number])) for number in known])
    entries = pl.concat([_entries_of(values), *_touched_addresses(cursor, ids, rows)], how="diagonal_relaxed")
    visitors = rows.select("experiment", pl.col("visitor_key").alias("key"))
    gone = pl.concat(
        keys.with_columns(is_address=pl.lit(is_address))
        for keys, is_address in ((visitors, False), (_changed_addresses(rows), True))
    )
    merged, short = merge(lists, gone, entries)
    for number in known:
        experiment_id, own = ids[number], merged.filter(pl.col("experiment") == number)
        extremes.add(cursor, experiment_id, counts.get(number, own.clear()))
        extremes.fold_counts(cursor, experiment_id)
        lacking = short.filter(pl.col("experiment") == number)
        if lacking.height:
            places = lacking.filter(pl.col("kind") != extremes.ADDRESSES)["goal"].unique().to_list()
            own = own.filter((pl.col("kind") == extremes.ADDRESSES) | ~pl.col("goal").is_in(places))
            parts = [own, _of(number, extremes.find_lists(cursor, experiment_id, kept[number], places))]
            if extremes.ADDRESSES in lacking["kind"]:
                parts = [part.filter(pl.col("kind") != extremes.ADDRESSES) for part in parts]
                parts.append(_of(number, extremes.find_addresses(cursor, experiment_id)))
            own = pl.concat(parts, how="diagonal_relaxed")
        before = lists.filter(pl.col("experiment") == number)
        if not own.sort(pl.all()).equals(before.select(own.columns).sort(pl.all())):
            extremes.replace_lists(cursor, experiment_id, own)


def merge(
    lists: pl.DataFrame, gone: pl.DataFrame, entries: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take from lists those who are `gone`, and put in `entries`; return them, and cells that are too short.

    Whoever is behind the last of a list that is not all of its cell was not in it, and others may be before.
    """
    last_first = lists.sort("size", "key", descending=[False, True])
    edges = last_first.group_by(_CELL).agg(
        pl.col("is_all").first().alias("was_all"),
        pl.col("size").first().alias("last_size"),
        pl.col("key").first().alias("last_key"),
    )
    is_address = pl.col("kind") == extremes.ADDRESSES
    stay = lists.with_columns(is_address.alias("is_address")).join(
        gone, on=["experiment", "key", "is_address"], how="anti"
    )
    found = pl.concat([stay.drop("is_address"), entries], how="diagonal_relaxed").join(
        edges, on=_CELL, how="left", nulls_equal=True
    )
    is_larger = (pl.col("size") > pl.col("last_size")) | (
        (pl.col("size") == pl.col("last_size")) & (pl.col("key") <= pl.col("last_key"))
    )
    is_open = pl.col("was_all").fill_null(value=True)
    in_order = found.filter(is_open | is_larger).sort("size", "key", descending=[True, False])
    ranked = in_order.with_columns(
        pl.int_range(pl.len()).over(_CELL).alias("rank"),
        (is_open & (pl.len().over(_CELL) <= extremes.KEPT)).alias("is_all"),
    )
    merged = ranked.filter(pl.col("rank") < extremes.KEPT)
    full = merged.group_by(_CELL).agg(pl.len().alias("height")).filter(pl.col("height") >= MOST)
    short = edges.filter(~pl.col("was_all")).join(full, on=_CELL, how="anti", nulls_equal=True)
    return merged.select(lists.columns), short.select(_CELL)


def _of(number: int, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(pl.lit(number, pl.UInt16).alias("experiment"), pl.all())


def _by_experiment(rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    for (number,), own in rows.partition_by("experiment", as_dict=True).items():
        yield int(number), own


def _values_of(rows: pl.DataFrame, kept: Sequence[KeptGoals]) -> pl.DataFrame:
    """List the values of visitors on each mean, with the `sign` by which they count."""
    shapes: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, one in enumerate(kept):
        for goal in one.means:
            # Those that other experiments have are null in the rows of one.
            columns = extremes.columns_of(goal, rows.columns)
            if columns[0] not in rows.columns:
                continue
            flags = (goal.place in kinds for kinds in (one.late, one.money))
            shapes[one.variants, goal.place, *flags, columns].append(number)
    parts = [
        rows.lazy()
        .filter(pl.col("experiment").is_in(numbers) & (pl.col("variant") < variants))
        .select(
            *("experiment", "variant", "sign", pl.col("visitor_key").alias("key")),
            pl.lit(place, pl.UInt8).alias("goal"),
            (pl.col("first_day") if is_late else pl.lit(None, pl.Int32)).alias("number"),
            pl.col("money_senders").alias("senders"),
            pl.lit(is_money).alias("is_money"),
            *extremes.named_values(columns),
        )
        for (variants, place, is_late, is_money, columns), numbers in shapes.items()
    ]
    nothing: Any = {**_EXPERIMENT, **extremes.SCHEMA, "sign": pl.Int64, "is_money": pl.Boolean}
    empty = pl.LazyFrame(schema=nothing).drop("kind", "size", "is_all")
    return pl.concat([empty, *parts], how="diagonal_relaxed").drop_nulls("value").collect()


def _entries_of(values: pl.DataFrame) -> pl.DataFrame:
    """Put those who came in every list of their goals."""
    came = values.lazy().filter(pl.col("sign") > 0)
    entries = pl.concat(
        came.with_columns(pl.lit(kind).alias("kind")).with_columns(extremes.size_of_kind())
        for kind in (extremes.HIGHEST, extremes.LOWEST, extremes.DENOMINATORS)
    )
    return entries.drop_nulls("size").drop("sign", "is_money").collect()


def _count(rows: pl.DataFrame, values: pl.DataFrame, kept: Sequence[KeptGoals]) -> pl.DataFrame:
    """Add up what changes in each count."""
    value, denominator = pl.col("value"), pl.col("denominator")
    of_cell = values.with_columns(pl.lit(None, pl.UInt8).alias("senders"))
    overdrawn = values.filter((value < 0) & pl.col("is_money"))
    minute = (pl.col("first_exposed_at") // extremes.MINUTE_US).cast(pl.Int32).alias("number")
    parts = [
        of_cell.filter(value != 0).with_columns(pl.lit(extremes.NONZERO).alias("kind")),
        of_cell.filter(denominator > 0).with_columns(pl.lit(extremes.WITH_DENOMINATOR).alias("kind")),
        overdrawn.with_columns(
            pl.lit(extremes.OVERDRAWN).alias("kind"), pl.lit(None, pl.Int32).alias("number"), money=value
        ),
        rows.select(
            *("experiment", "sign", minute),
            pl.col("exposure_sender").alias("senders"),
            pl.lit(extremes.MINUTES).alias("kind"),
        ),
        *_steps(rows, kept),
    ]
    counted = (
        pl.concat(parts, how="diagonal_relaxed")
        .group_by(_COUNTED)
        .agg(pl.col("sign").sum().alias("size"), (pl.col("sign") * pl.col("money")).sum().alias("value"))
    )
    return counted.filter((pl.col("size") != 0) | (pl.col("value") != 0))


def _steps(rows: pl.DataFrame, kept: Sequence[KeptGoals]) -> Iterator[pl.DataFrame]:
    for place in sorted({place for one in kept for place in one.funnels}):
        numbers = [number for number, one in enumerate(kept) if place in one.funnels]
        # Visitors of no variant have numbers above those of all variants.
        variants = pl.col("experiment").replace_strict(
            {number: kept[number].variants for number in numbers}, default=0, return_dtype=pl.UInt8
        )
        own = rows.filter(pl.col("experiment").is_in(numbers) & (pl.col("variant") < variants))
        yield own.select(
            *("experiment", "variant", "sign", pl.lit(place, pl.UInt8).alias("goal")),
            pl.col(column_of(place, "steps")).cast(pl.Int32).alias("number"),
            pl.lit(extremes.STEPS).alias("kind"),
        )


def _changed_addresses(rows: pl.DataFrame) -> pl.DataFrame:
    """List the addresses, as `key`, at which there are more visitors or fewer, or of other senders."""
    changed = rows.group_by("experiment", "address_key", "exposure_sender").agg(pl.col("sign").sum())
    return (
        changed.filter(pl.col("sign") != 0)
        .drop_nulls("address_key")
        .select("experiment", pl.col("address_key").alias("key"))
        .unique()
    )


def _touched_addresses(cursor: Cursor, ids: Sequence[str], rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Count the visitors of changed addresses in all rows."""
    for number, own in _by_experiment(_changed_addresses(rows)):
        yield _of(number, extremes.find_addresses(cursor, ids[number], own["key"]))
