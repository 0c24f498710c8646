"""What visitors' values add up to: amounts that are cut, orders, and what was done before."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.visitors import columns_of, result_table, within_segment


class AskedGoal(NamedTuple):
    """What is asked of the goal at a place among those counted."""

    place: int
    is_revenue: bool
    cap_percentile: float | None


class ValueSums(NamedTuple):
    """Sums of whole numbers over the visitors of one variant: of the value y, the orders d, the past z.

    `has_orders` and `has_past` say whether anything is known of those; their sums are 0 otherwise.
    """

    goal: int
    variant: int
    n: int
    y: int
    yy: int
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


def read_value_sums(
    cursor: Cursor,
    experiment_id: str,
    goals: Sequence[AskedGoal],
    segment: Mapping[str, str],
    *,
    variants: int,
) -> list[ValueSums]:
    """Sum up the visitors who have every value of `segment`, a row for each goal and variant that has any.

    Amounts, and those of the past, are cut at the percentile of what all visitors who paid brought, in
    whichever segment: see `engine.stats.winsorizing`. `cursor` is in a transaction.
    """
    known = set(columns_of(cursor, experiment_id))
    asked = [goal for goal in goals if f"g{goal.place}_at" in known]
    if not asked:
        return []
    caps = _caps(cursor, experiment_id, asked, variants)
    values = [column for goal in asked for column in _values(goal, caps.get(goal.place), known)]
    sums = [column for goal in asked for column in _sums(goal.place, caps.get(goal.place))]
    rows = cursor.execute(
        f"""
        SELECT variant, count(*), {", ".join(sums)} FROM (
          SELECT variant, {", ".join(values)} FROM {result_table("visitors", experiment_id)}
          WHERE variant < {variants:d} AND {within_segment(cursor, experiment_id, segment)}
        ) GROUP BY variant ORDER BY variant
        """
    ).fetchall()
    return [
        _row(goal.place, numbers, place * _SUMS, caps.get(goal.place), known)
        for numbers in rows
        for place, goal in enumerate(asked)
    ]


def _caps(cursor: Cursor, experiment_id: str, goals: Sequence[AskedGoal], variants: int) -> dict[int, int]:
    """Where the amounts of each goal are cut; goals that nobody paid for are left out."""
    capped = [goal for goal in goals if goal.cap_percentile is not None]
    if not capped:
        return {}
    # The smallest amount with at least that share at or below it: an observed one, so cents stay whole.
    found = ", ".join(
        f"quantile_disc(g{goal.place}_cents, {goal.cap_percentile or 0:f} / 100)"
        f" FILTER (g{goal.place}_cents > 0)"
        for goal in capped
    )
    table = result_table("visitors", experiment_id)
    (caps,) = cursor.execute(f"SELECT {found} FROM {table} WHERE variant < {variants:d}").fetchall()
    return {goal.place: int(cap) for goal, cap in zip(capped, caps, strict=True) if cap is not None}


def _values(goal: AskedGoal, cap: int | None, known: set[str]) -> Iterator[str]:
    name = f"g{goal.place}"
    amount = f"{name}_cents" if goal.is_revenue else f"({name}_at IS NOT NULL)::BIGINT"
    past = f"{name}_before" if f"{name}_before" in known else "0::BIGINT"
    orders = f"{name}_orders" if f"{name}_orders" in known else "0::BIGINT"
    yield f"{amount} AS raw_{goal.place}"
    yield f"{_cut(amount, cap)}::HUGEINT AS y_{goal.place}"
    yield f"{orders}::HUGEINT AS d_{goal.place}"
    yield f"{_cut(past, cap)}::HUGEINT AS z_{goal.place}"


def _cut(amount: str, cap: int | None) -> str:
    return amount if cap is None else f"least({amount}, {cap:d})"


def _sums(place: int, cap: int | None) -> list[str]:
    y, d, z = (f"{name}_{place}" for name in ("y", "d", "z"))
    pairs = (y, f"{y} * {y}", d, f"{d} * {d}", f"{d} * {y}", z, f"{z} * {z}", f"{z} * {y}", f"{z} * {d}")
    capped = "0" if cap is None else f"count(*) FILTER (raw_{place} > {cap:d})"
    return [capped, *(f"sum({pair})" for pair in pairs)]


_SUMS = len(_sums(0, None))


def _row(place: int, numbers: Sequence[int], first: int, cap: int | None, known: set[str]) -> ValueSums:
    variant, n, *sums = numbers
    capped, y, yy, d, dd, dy, z, zz, zy, zd = map(int, sums[first : first + _SUMS])
    return ValueSums(
        goal=place,
        variant=int(variant),
        n=int(n),
        y=y,
        yy=yy,
        cap=cap,
        capped=capped,
        has_orders=f"g{place}_orders" in known,
        d=d,
        dd=dd,
        dy=dy,
        has_past=f"g{place}_before" in known,
        z=z,
        zz=zz,
        zy=zy,
        zd=zd,
    )
