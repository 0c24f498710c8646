"""Sums of visitors' values: winsorized amounts, orders, pre-period values, and steps of funnels."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.cubes import CUBE_BASE, are_plain, plain_sums, product_sums
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.visitors import column_of, day_column, result_table


class SummedGoal(NamedTuple):
    """Goal to sum values of, by its position in the visitor rows.

    Values are its cents, the amounts of its measure, or 1 and 0 for conversions.
    """

    place: int
    is_revenue: bool
    cap_percentile: float | None
    has_amounts: bool = False
    has_denominator: bool = False

    @property
    def column(self) -> str | None:
        """Column of the values; None for conversions."""
        if self.has_amounts:
            return column_of(self.place, "amount")
        return column_of(self.place, "cents") if self.is_revenue else None

    @property
    def orders_column(self) -> str:
        """Column of the orders, or of the denominator of a ratio."""
        return column_of(self.place, "denominator" if self.has_denominator else "orders")


class ValueSums(NamedTuple):
    """Integer sums over the visitors of one variant: of the value y, the orders d, the pre-period value z.

    The orders of a ratio are its denominator. `thirds` are the sums of products of three of them but y³, such
    as `ddy`.

    Without `has_orders` or `has_past` those are not counted, and their sums are 0.
    """

    goal: int
    variant: int
    n: int
    y: int
    yy: int
    yyy: int
    cap: int | None
    capped: int
    has_orders: bool
    d: int
    dd: int
    dy: int
    has_past: bool
    z: int
    zz: int
    zy: int
    zd: int
    thirds: Mapping[str, int]


class StepCount(NamedTuple):
    """Visitors of a variant, by position, who reached so many steps of a funnel, and no more."""

    variant: int
    steps: int
    visitors: int


def read_value_sums(
    visitors: SelectedVisitors, goals: Sequence[SummedGoal], *, last_day: int | None = None
) -> list[ValueSums]:
    """Sum up visitors, a row per goal and variant with some.

    Only visitors first exposed up to `last_day`, where it is given.

    Amounts, in the pre-period too, are capped at a percentile of the positive amounts of all visitors, in any
    segment: see `engine.stats.winsorizing`.
    """
    cursor, columns = visitors.cursor, visitors.columns
    counted = counted_goals(goals, columns)
    if not counted:
        return []
    caps = caps_of(cursor, visitors.experiment_id, counted, visitors.variants)
    return [
        _row(goal, numbers, place * _SUMS, caps.get(goal.place), columns)
        for numbers in _grouped(visitors, counted, caps, ("variant",), last_day)
        for place, goal in enumerate(counted)
    ]


def _grouped(
    visitors: SelectedVisitors,
    counted: Sequence[SummedGoal],
    caps: Mapping[int, int],
    keys: Sequence[str],
    last_day: int | None = None,
) -> list[tuple[Any, ...]]:
    """Sum up visitors by `keys`, in order: these, the number of visitors, and the sums of each goal."""
    columns = visitors.columns
    values = [column for goal in counted for column in value_columns(goal, caps.get(goal.place), columns)]
    by = ", ".join(keys)
    selected = f"SELECT {by}, {', '.join(values)} FROM {visitors.rows(last_day)}"
    # Nearly always all are small. Sums that need not ask it of every row are planned and added up faster.
    asked = (are_plain(f"{name}_{goal.place}") for goal in counted for name in "ydz")
    (found,) = visitors.cursor.execute(f"SELECT {' AND '.join(asked)} FROM ({selected})").fetchall()
    products = plain_sums if found[0] else product_sums
    sums = [column for goal in counted for column in _sums(goal, caps.get(goal.place), columns, products)]
    return visitors.cursor.execute(
        f"SELECT {by}, count(*), {', '.join(sums)} FROM ({selected}) GROUP BY {by} ORDER BY {by}"
    ).fetchall()


def find_products(
    visitors: SelectedVisitors, goals: Sequence[SummedGoal], dimension: str | None
) -> tuple[dict[int, int], list[tuple[Any, ...]]]:
    """Sum up visitors by a column of segments, variant and day of first exposure; return the caps, too.

    A row for each of PRODUCTS that the goal has: the `code` of the segment (None without one), `variant`,
    `day`, `goal`, `product`, and both parts of the sum.
    """
    counted = counted_goals(goals, visitors.columns)
    if not counted:
        return {}, []
    caps = caps_of(visitors.cursor, visitors.experiment_id, counted, visitors.variants)
    keys = (*([] if dimension is None else [dimension]), "variant", "first_day")
    rows = list[tuple[Any, ...]]()
    for found in _grouped(visitors, counted, caps, keys):
        cell = (*([None] if dimension is None else []), *found[: len(keys)])
        for place, goal in enumerate(counted):
            numbers = [int(one) for one in found[len(keys) + 1 + place * _SUMS :][:_SUMS]]
            rows += [(*cell, goal.place, *one) for one in _products(goal, numbers, caps, visitors.columns)]
    return caps, rows


def _products(
    goal: SummedGoal, numbers: Sequence[int], caps: Mapping[int, int], columns: Collection[str]
) -> Iterator[tuple[str, int, int]]:
    """Yield the products of a goal by name, with both parts of their sums."""
    capped, high, low, *pairs = numbers[:_FIRST_SUMS]
    parts = iter(numbers[_FIRST_SUMS:])
    plain = dict(zip(PRODUCTS, [(0, capped), *((0, one) for one in pairs[:2]), (high, low)], strict=False))
    plain |= {name: (0, one) for name, one in zip(PRODUCTS[4:11], pairs[2:], strict=True)}
    plain |= {name: (next(parts), next(parts)) for name in THIRDS}
    unknown = {name for name, is_known in zip("dz", _has(goal, columns), strict=True) if not is_known}
    for name, sums in plain.items():
        if not unknown & set(name) if name != PRODUCTS[0] else goal.place in caps:
            yield name, *sums


def counted_goals(goals: Sequence[SummedGoal], columns: Collection[str]) -> list[SummedGoal]:
    """List the goals that visitor rows with these columns were counted for."""
    return [goal for goal in goals if (goal.column or day_column(goal.place)) in columns]


def read_steps(visitors: SelectedVisitors, goals: Sequence[int]) -> dict[int, list[StepCount]]:
    """Count visitors by the steps that they reached of funnels.

    Goals whose steps were not counted are left out: results of earlier versions have none.
    """
    found: dict[int, list[StepCount]] = {
        goal: [] for goal in goals if column_of(goal, "steps") in visitors.columns
    }
    parts = [
        f"SELECT {goal:d}, variant, {column_of(goal, 'steps')}, count(*) FROM {visitors.rows()} GROUP BY ALL"
        for goal in found
    ]
    for goal, *counts in visitors.cursor.execute(" UNION ALL ".join(parts)).fetchall() if parts else ():
        found[goal].append(StepCount(*map(int, counts)))
    return found


def caps_of(cursor: Cursor, experiment_id: str, goals: Sequence[SummedGoal], variants: int) -> dict[int, int]:
    """Find the cap of each capped goal in units of its values, by its place; none without values above 0."""
    capped = [goal for goal in goals if goal.cap_percentile is not None and goal.column is not None]
    if not capped:
        return {}
    # The smallest amount with at least that share at or below it: an observed one, so cents stay integers.
    quantiles = ", ".join(
        f"quantile_disc({goal.column}, {goal.cap_percentile or 0:f} / 100) FILTER ({goal.column} > 0)"
        for goal in capped
    )
    table = result_table("visitors", experiment_id)
    (caps,) = cursor.execute(f"SELECT {quantiles} FROM {table} WHERE variant < {variants:d}").fetchall()
    return {goal.place: int(cap) for goal, cap in zip(capped, caps, strict=True) if cap is not None}


def value_columns(goal: SummedGoal, cap: int | None, columns: Collection[str]) -> Iterator[str]:
    """Yield the SQL of a goal's values of a visitor, `raw`, capped `y`, orders `d` and pre-period `z`."""
    amount = goal.column or f"(g{goal.place}_at IS NOT NULL)::BIGINT"
    orders = goal.orders_column if goal.orders_column in columns else "0::BIGINT"
    yield f"{amount} AS raw_{goal.place}"
    yield f"{_capped(amount, cap)}::HUGEINT AS y_{goal.place}"
    yield f"{orders}::HUGEINT AS d_{goal.place}"
    yield f"{value_before(goal, cap, columns)}::HUGEINT AS z_{goal.place}"


def value_before(goal: SummedGoal, cap: int | None, columns: Collection[str], *, table: str = "") -> str:
    """Build the SQL of a goal's capped value of a visitor in the pre-period; 0 without one.

    `table` is the name of the visitors' rows in the query, with a dot.
    """
    name = f"g{goal.place}_before"
    return _capped(f"{table}{name}" if name in columns else "0::BIGINT", cap)


def _capped(amount: str, cap: int | None) -> str:
    return amount if cap is None else f"least({amount}, {cap:d})"


# Products of three: of each goal with orders, and of each with a pre-period.
THIRDS: Final = ("ddd", "ddy", "dyy", "zzz", "zzy", "zyy", "zzd", "zdd", "zyd")


def _sums(
    goal: SummedGoal,
    cap: int | None,
    columns: Collection[str],
    products: Callable[[str, str, str], tuple[str, str]],
) -> list[str]:
    place = goal.place
    y, d, z = (f"{name}_{place}" for name in ("y", "d", "z"))
    pairs = (y, f"{y} * {y}", d, f"{d} * {d}", f"{d} * {y}", z, f"{z} * {z}", f"{z} * {y}", f"{z} * {d}")
    capped = "0" if cap is None else f"count(*) FILTER (raw_{place} > {cap:d})"
    unknown = {name for name, is_known in zip("dz", _has(goal, columns), strict=True) if not is_known}
    thirds = [
        column
        for third in THIRDS
        for column in (
            ("0", "0") if unknown & set(third) else products(*(f"{name}_{place}" for name in third))
        )
    ]
    return [capped, *products(y, y, y), *(f"sum({pair})" for pair in pairs), *thirds]


def _has(goal: SummedGoal, columns: Collection[str]) -> tuple[bool, bool]:
    """Tell whether a goal has orders, and whether it has a pre-period."""
    return goal.orders_column in columns, f"g{goal.place}_before" in columns


PRODUCTS: Final = ("capped", "y", "yy", "yyy", "d", "dd", "dy", "z", "zz", "zy", "zd", *THIRDS)
"""The sums of ValueSums: of y, d and z, of their products, and the visitors with more than the cap."""
# Sums before those of three.
_FIRST_SUMS: Final = 12
_SUMS: Final = _FIRST_SUMS + 2 * len(THIRDS)


def _row(
    goal: SummedGoal, numbers: Sequence[int], first: int, cap: int | None, columns: Collection[str]
) -> ValueSums:
    variant, n, *sums = numbers
    numbers = [int(one) for one in sums[first : first + _SUMS]]
    capped, high, low, y, yy, d, dd, dy, z, zz, zy, zd = numbers[:_FIRST_SUMS]
    parts = zip(numbers[_FIRST_SUMS::2], numbers[_FIRST_SUMS + 1 :: 2], strict=True)
    has_orders, has_past = _has(goal, columns)
    return ValueSums(
        goal=goal.place,
        variant=int(variant),
        n=int(n),
        y=y,
        yy=yy,
        yyy=high * CUBE_BASE + low,
        cap=cap,
        capped=capped,
        has_orders=has_orders,
        d=d,
        dd=dd,
        dy=dy,
        has_past=has_past,
        z=z,
        zz=zz,
        zy=zy,
        zd=zd,
        thirds={name: high * CUBE_BASE + low for name, (high, low) in zip(THIRDS, parts, strict=True)},
    )
