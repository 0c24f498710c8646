"""Extremes of an experiment's visitors, kept beside its sums, so that reports read no visitor rows.

Lists have the first KEPT visitors, or network addresses, of a cell by size, and among equals by key; `is_all`
where nobody else is in the cell. Counts add up: `size` is a number of visitors, and `value` is of money. The
`number` is the day of first exposure where outcomes of the goal take days, the minute, or that of steps.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.value_sums import SummedGoal
from pipeline.store.warehouse.visitors import column_of, read_columns, result_table

# More than reports need, so that a list is made anew only once some of these have left it.
KEPT: Final = 8
HIGHEST, LOWEST, DENOMINATORS, ADDRESSES = LISTS = ("highest", "lowest", "denominators", "addresses")
NONZERO, WITH_DENOMINATOR, OVERDRAWN, STEPS, MINUTES = (
    "nonzero",
    "with_denominator",
    "overdrawn",
    "steps",
    "minutes",
)
# Changes of counts are rows beside theirs, which reads add up.
MOST_ROWS: Final = 4
MINUTE_US: Final = 60_000_000
# An address has a place in its list for each sender, of whom the lowest goes first among equals.
SENDERS: Final = 256
_ADDRESSES_AT_ONCE: Final = 1_000_000
SCHEMA: Final = pl.Schema(
    {
        "kind": pl.String,
        "goal": pl.UInt8,
        "variant": pl.UInt8,
        "number": pl.Int32,
        "senders": pl.UInt8,
        "key": pl.UInt64,
        "size": pl.Int64,
        "value": pl.Int64,
        "denominator": pl.Int64,
        "before": pl.Int64,
        "is_all": pl.Boolean,
    }
)
_COLUMNS: Final = """
    kind VARCHAR, goal UTINYINT, variant UTINYINT, number INTEGER, senders UTINYINT, key UBIGINT, size BIGINT,
    value BIGINT, denominator BIGINT, before BIGINT, is_all BOOLEAN
"""


class KeptGoals(NamedTuple):
    """Goals of an experiment with so many `variants` that are means, and which of them are money.

    By position; `late` are those with outcomes that take days, and `funnels` have steps.
    """

    variants: int
    means: Sequence[SummedGoal]
    money: frozenset[int]
    late: frozenset[int]
    funnels: Sequence[int]


def are_kept(cursor: Cursor, experiment_id: str) -> bool:
    """Tell whether the extremes are there, which versions before this one did not keep."""
    return table_exists(cursor, result_table("extremes", experiment_id).strip('"'))


def fill(cursor: Cursor, experiment_id: str, kept: KeptGoals, *, is_temporary: bool = False) -> None:
    """Find the extremes in the visitor rows, and keep them."""
    table = result_table("extremes", experiment_id)
    temporary = "TEMP" if is_temporary else ""
    cursor.execute(f"CREATE OR REPLACE {temporary} TABLE {table} ({_COLUMNS})")
    columns = frozenset(read_columns(cursor, experiment_id))
    parts = [find_lists(cursor, experiment_id, kept, {goal.place for goal in kept.means})]
    parts += _find_counts(cursor, experiment_id, kept, columns)
    if "exposure_sender" in columns:
        parts.append(find_addresses(cursor, experiment_id))
    add(cursor, experiment_id, pl.concat(parts, how="diagonal_relaxed"))


def replace(cursor: Cursor, experiment_id: str, rows: pl.DataFrame) -> None:
    """Replace everything that is kept by rows that were found elsewhere."""
    cursor.execute(f"CREATE OR REPLACE TABLE {result_table('extremes', experiment_id)} ({_COLUMNS})")
    add(cursor, experiment_id, rows)


def add(cursor: Cursor, experiment_id: str, rows: pl.DataFrame) -> None:
    """Add rows of lists, and to counts."""
    if rows.height:
        added = FrameStream(rows.select(name for name in SCHEMA if name in rows.columns))  # noqa: F841
        cursor.execute(f"INSERT INTO {result_table('extremes', experiment_id)} BY NAME SELECT * FROM added")


def fold_counts(cursor: Cursor, experiment_id: str) -> None:
    """Add up the rows of each count but the minutes, where changes have left more than MOST_ROWS a count."""
    table = result_table("extremes", experiment_id)
    counts = f"FROM {table} WHERE kind NOT IN {(*LISTS, MINUTES)}"
    query = f"SELECT count(*), count(DISTINCT (kind, goal, variant, number, senders)) {counts}"
    ((rows, cells),) = cursor.execute(query).fetchall()
    if rows <= MOST_ROWS * cells:
        return
    folded = fetch_frame(
        cursor,
        "SELECT kind, goal, variant, number, senders, sum(size)::BIGINT AS size, "
        f"sum(value)::BIGINT AS value {counts} GROUP BY ALL ORDER BY ALL",
    )
    cursor.execute(f"DELETE {counts}")
    add(cursor, experiment_id, folded)


def replace_lists(cursor: Cursor, experiment_id: str, rows: pl.DataFrame) -> None:
    """Replace all lists of an experiment."""
    table = result_table("extremes", experiment_id)
    cursor.execute(f"DELETE FROM {table} WHERE kind IN {LISTS}")
    add(cursor, experiment_id, rows)


def read_kept(cursor: Cursor, experiment_id: str, kept: KeptGoals) -> pl.DataFrame:
    """Read everything but the minutes, of which there are many; where nothing is kept, from visitor rows.

    They are in a temporary table then, which the minutes are read from in the same transaction.
    """
    if not are_kept(cursor, experiment_id):
        fill(cursor, experiment_id, kept, is_temporary=True)
    return fetch_frame(
        cursor, f"SELECT * FROM {result_table('extremes', experiment_id)} WHERE kind <> '{MINUTES}'"
    )


def read_lists(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read all lists of an experiment."""
    return fetch_frame(
        cursor, f"SELECT * FROM {result_table('extremes', experiment_id)} WHERE kind IN {LISTS}"
    )


def read_peaks(cursor: Cursor, experiment_id: str) -> list[tuple[int, int, int, int]]:
    """Return, by sender, the most visitors of a minute, all of them, and the minutes from first to last."""
    by_minute = f"""
        SELECT senders, number, sum(size) AS visitors FROM {result_table("extremes", experiment_id)}
        WHERE kind = '{MINUTES}' GROUP BY ALL HAVING sum(size) <> 0
    """
    return cursor.execute(
        f"""
        SELECT senders, max(visitors)::BIGINT, sum(visitors)::BIGINT, max(number) - min(number) + 1
        FROM ({by_minute}) GROUP BY senders ORDER BY senders
        """
    ).fetchall()


def columns_of(goal: SummedGoal, columns: Collection[str]) -> tuple[str, str | None, str | None]:
    """Name the columns of a mean's value, denominator or orders, and value before; None where not counted."""
    orders, before = goal.orders_column, f"g{goal.place}_before"
    value = goal.column or column_of(goal.place, "cents")
    return value, orders if orders in columns else None, before if before in columns else None


def find_lists(cursor: Cursor, experiment_id: str, kept: KeptGoals, places: Collection[int]) -> pl.DataFrame:
    """Find the lists of goals at some places in the visitor rows."""
    columns, parts = frozenset(read_columns(cursor, experiment_id)), [pl.DataFrame(schema=SCHEMA)]
    rows = f"{result_table('visitors', experiment_id)} WHERE variant < {kept.variants:d}"
    for number, is_late in (("NULL::INTEGER", False), ("first_day", True)):
        goals = [
            goal
            for goal in kept.means
            if goal.place in places
            and (goal.place in kept.late) == is_late
            and columns_of(goal, columns)[0] in columns
        ]
        lists = [(goal, *one) for goal in goals for one in _sizes(goal, columns)]
        if not lists:
            continue
        # Rows are found by their numbers first: lists of all values take three times as long.
        found = ", ".join(f"max_by(rowid, {_rank(size)}, {KEPT:d})" for *_, size in lists)
        query = f"SELECT variant, {number} AS number, {found} FROM {rows} GROUP BY ALL"
        sought = [
            (kind, goal.place, variant, day, row, len(row_ids) < KEPT)
            for variant, day, *found_rows in cursor.execute(query).fetchall()
            for (goal, kind, _), row_ids in zip(lists, found_rows, strict=True)
            for row in row_ids or ()
        ]
        parts += _with_values(cursor, experiment_id, goals, sought, columns)
    return pl.concat(parts, how="diagonal_relaxed")


def _sizes(goal: SummedGoal, columns: Collection[str]) -> Iterator[tuple[str, str]]:
    value, denominator, _ = columns_of(goal, columns)
    yield HIGHEST, value
    yield LOWEST, f"-{value}"
    if denominator:
        yield DENOMINATORS, denominator


def _rank(size: str) -> str:
    """Build the SQL number by which visitors are in order: of equal sizes the lowest key is first."""
    return f"({size})::HUGEINT * {2**64} + ({2**64 - 1} - visitor_key)::HUGEINT"


def _with_values(
    cursor: Cursor,
    experiment_id: str,
    goals: Sequence[SummedGoal],
    sought: Sequence[tuple[object, ...]],
    columns: Collection[str],
) -> Iterator[pl.DataFrame]:
    """Yield the rows of the lists of each goal, with the values of their visitors."""
    schema = {name: SCHEMA[name] for name in ("kind", "goal", "variant", "number")}
    places = pl.DataFrame(sought, {**schema, "rowid": pl.Int64, "is_all": pl.Boolean}, orient="row")
    names = {name for goal in goals for name in columns_of(goal, columns) if name}
    senders = "money_senders" if "money_senders" in columns else "0::UTINYINT AS money_senders"
    with registered(cursor, "sought", places.select("rowid").unique()):
        query = f"""
            SELECT rowid, visitor_key AS key, {senders}, {", ".join(sorted(names))}
            FROM {result_table("visitors", experiment_id)} WHERE rowid IN (FROM sought)
        """
        rows = fetch_frame(cursor, query)
    for goal in goals:
        own = places.filter(pl.col("goal") == goal.place).join(rows, on="rowid")
        values = columns_of(goal, columns)
        yield own.select(
            *schema, "key", "is_all", pl.col("money_senders").alias("senders"), *named_values(values)
        ).with_columns(size_of_kind())


def named_values(columns: tuple[str, str | None, str | None]) -> Iterator[pl.Expr]:
    """Yield the `value`, the `denominator` and the value `before`, null where they are not counted."""
    for name, column in zip(("value", "denominator", "before"), columns, strict=True):
        yield (pl.lit(None) if column is None else pl.col(column)).cast(pl.Int64).alias(name)


def size_of_kind() -> pl.Expr:
    """Build the size of a visitor in a list."""
    value = pl.col("value")
    signed = pl.when(pl.col("kind") == LOWEST).then(-value).otherwise(value)
    return pl.when(pl.col("kind") == DENOMINATORS).then("denominator").otherwise(signed).alias("size")


def find_addresses(cursor: Cursor, experiment_id: str, touched: pl.Series | None = None) -> pl.DataFrame:
    """Find the addresses with most visitors, or those of all that are `touched`."""
    table = result_table("visitors", experiment_id)
    size = f"count(*) * {SENDERS} + {SENDERS - 1} - exposure_sender"
    found = f"""
        SELECT '{ADDRESSES}' AS kind, 0::UTINYINT AS goal, 0::UTINYINT AS variant, exposure_sender AS senders,
          address_key AS key, ({size})::BIGINT AS size FROM {table} WHERE {{condition}}
        GROUP BY exposure_sender, address_key
    """
    if touched is not None:
        with registered(cursor, "touched", touched.alias("key").to_frame()):
            return fetch_frame(cursor, found.format(condition="address_key IN (FROM touched)"))
    ((rows,),) = cursor.execute(f"SELECT count(*) FROM {table}").fetchall()
    parts = max(-(-rows // _ADDRESSES_AT_ONCE), 1)
    first = [
        # Keys are hashes, so their remainders are even.
        fetch_frame(
            cursor,
            found.format(condition=f"address_key % {parts:d} = {part:d}")
            + f" ORDER BY size DESC, key LIMIT {KEPT + 1:d}",
        )
        for part in range(parts)
    ]
    in_order = pl.concat(first).sort("size", "key", descending=[True, False])
    return in_order.head(KEPT).with_columns(pl.lit(in_order.height <= KEPT).alias("is_all"))


def release(cursor: Cursor, experiment_id: str) -> None:
    """Follow visitor rows that got other keys, of the frame `released`, and no address any more."""
    if not are_kept(cursor, experiment_id):
        return
    table = result_table("extremes", experiment_id)
    cursor.execute(
        f"UPDATE {table} SET key = r.number FROM released r "
        f"WHERE {table}.key = r.key AND kind <> '{ADDRESSES}'"
    )
    cursor.execute(f"DELETE FROM {table} WHERE kind = '{ADDRESSES}'")
    add(cursor, experiment_id, find_addresses(cursor, experiment_id))


def count_rows_of(cursor: Cursor, experiment_id: str, visitor_keys: pl.Series) -> int:
    """Count the rows of visitors with one of the keys."""
    if not are_kept(cursor, experiment_id):
        return 0
    with registered(cursor, "sought", visitor_keys.alias("key").to_frame()):
        query = f"""
            SELECT count(*) FROM {result_table("extremes", experiment_id)}
            WHERE kind <> '{ADDRESSES}' AND key IN (FROM sought)
        """
        return int(cursor.execute(query).fetchall()[0][0])


def _find_counts(
    cursor: Cursor, experiment_id: str, kept: KeptGoals, columns: Collection[str]
) -> Iterator[pl.DataFrame]:
    table = result_table("visitors", experiment_id)
    counted = f"FROM {table} WHERE variant < {kept.variants:d}"
    queries = []
    for goal in kept.means:
        value, denominator, _ = columns_of(goal, columns)
        number = "first_day" if goal.place in kept.late else "NULL::INTEGER"
        conditions = {NONZERO: f"{value} <> 0", WITH_DENOMINATOR: denominator and f"{denominator} > 0"}
        queries += [
            f"SELECT '{kind}' AS kind, {goal.place:d} AS goal, variant, {number} AS number, count(*) AS size "
            f"{counted} AND {condition} GROUP BY ALL"
            for kind, condition in conditions.items()
            if condition and value in columns
        ]
    for place in kept.money if "money_senders" in columns else ():
        cents = column_of(place, "cents")
        queries.append(
            f"SELECT '{OVERDRAWN}' AS kind, {place:d} AS goal, variant, money_senders AS senders, "
            f"count(*) AS size, sum({cents})::BIGINT AS value {counted} AND {cents} < 0 GROUP BY ALL"
        )
    queries += [
        f"SELECT '{STEPS}' AS kind, {goal:d} AS goal, variant, {column_of(goal, 'steps')} AS number, "
        f"count(*) AS size {counted} GROUP BY ALL"
        for goal in kept.funnels
        if column_of(goal, "steps") in columns
    ]
    if "exposure_sender" in columns:
        queries.append(
            f"SELECT '{MINUTES}' AS kind, exposure_sender AS senders, "
            f"first_exposed_at // {MINUTE_US} AS number, count(*) AS size "
            f"FROM {table} GROUP BY ALL ORDER BY ALL"
        )
    for query in queries:
        found = fetch_frame(cursor, query)
        yield found.cast({name: kind for name, kind in SCHEMA.items() if name in found.columns})
