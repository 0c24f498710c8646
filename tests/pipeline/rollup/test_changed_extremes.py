"""Changed extremes: the same as those of all visitor rows, whoever comes, goes, or has less than before."""

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from pipeline.rollup.changed_extremes import change
from pipeline.rollup.changed_rows import VisitorRows
from pipeline.settings import Settings
from pipeline.store.warehouse import extremes, visitors
from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame
from pipeline.store.warehouse.erasure.segment_texts import release_rows
from pipeline.store.warehouse.extremes import KeptGoals
from pipeline.store.warehouse.value_sums import SummedGoal
from tests.examples import seed_or, trials
from tests.pipeline.rollup.kept_extremes import of_table

IDS = ("exp_1", "exp_2")
MONEY = SummedGoal(0, is_revenue=True, cap_percentile=None)
LATE_RATIO = SummedGoal(1, is_revenue=False, cap_percentile=None, has_amounts=True, has_denominator=True)
EXTRA = ("g0_orders", "g0_before", "g1_amount", "g1_denominator", "g2_steps")
# The second has neither ratio nor funnel, and one variant more.
KEPT = (
    KeptGoals(2, [MONEY, LATE_RATIO], frozenset({0}), frozenset({1}), [2]),
    KeptGoals(3, [MONEY], frozenset({0}), frozenset(), []),
)


@pytest.fixture(scope="module")
def cursor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cursor]:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path_factory.mktemp("store")))
    with warehouse.transaction() as opened:
        yield opened
    warehouse.close()


def extra_of(number: int) -> tuple[str, ...]:
    return EXTRA if number == 0 else EXTRA[:2]


def drawn(rng: np.random.Generator, keys: list[int], number: int) -> pl.DataFrame:
    """Draw rows with few values, so that many are equal; some have more refunds than orders."""
    size = len(keys)
    numbers = {
        "variant": rng.choice([0, 1, 2, 254] if number else [0, 1, 1, 254], size),
        "first_exposed_at": rng.integers(0, 9, size) * 40_000_000,
        "first_day": rng.integers(0, 3, size),
        "exposure_sender": rng.integers(0, 3, size),
        "money_senders": rng.integers(0, 4, size),
        "g0_cents": rng.choice([0, 0, 100, 200, 900, -100, -300], size),
        "g1_cents": 0,
        "g2_cents": 0,
        **{
            name: rng.integers(-2, 3, size) if name == "g1_amount" else rng.integers(0, 4, size)
            for name in EXTRA
        },
    }
    rows = pl.DataFrame({"visitor_key": pl.Series(keys, dtype=pl.UInt64), **numbers}).cast(
        {"variant": pl.UInt8, "exposure_sender": pl.UInt8, "money_senders": pl.UInt8, "first_day": pl.Int32}
    )
    addresses = pl.Series(rng.choice([1, 2, 3, 2**63, *range(10, 40)], size), dtype=pl.UInt64)
    addressed = rows.with_columns(
        pl.lit(number, pl.UInt16).alias("experiment"),
        pl.when(pl.Series(rng.random(size) < 0.8)).then(addresses).alias("address_key"),
    )
    # Rows of several experiments have the columns of all.
    return addressed.with_columns(
        pl.lit(None, pl.Int64).alias(name) for name in EXTRA if name not in extra_of(number)
    )


def add(cursor: Cursor, rows: pl.DataFrame, number: int) -> None:
    others = [name for name in EXTRA if name not in extra_of(number)]
    visitors.add(cursor, IDS[number], rows.drop("experiment", *others), visitors.no_orders())


def first_rows(cursor: Cursor, rng: np.random.Generator) -> list[pl.DataFrame]:
    rows = [drawn(rng, [*range(5)], number) for number in range(2)]
    for number, own in enumerate(rows):
        visitors.recreate(cursor, IDS[number], goals=3, extra_columns=extra_of(number))
        add(cursor, own, number)
    return rows


def step(cursor: Cursor, rows: list[pl.DataFrame], rng: np.random.Generator, now: int) -> list[pl.DataFrame]:
    """Let some visitors go, some change and some come; return the rows that there are then."""
    removed, added, after = [], [], []
    for number, before in enumerate(rows):
        share = rng.choice([0.0, 0.1, 0.7])
        goes = pl.Series(rng.random(before.height) < share)
        gone = before.filter(goes)
        back = gone["visitor_key"].sample(fraction=float(rng.random()), seed=int(rng.integers(99))).to_list()
        came = drawn(rng, [*back, *range(1000 * now, 1000 * now + int(rng.integers(1, 25)))], number)
        visitors.remove(cursor, "visitors", IDS[number], gone["visitor_key"])
        add(cursor, came, number)
        removed.append(gone)
        added.append(came)
        after.append(pl.concat([before.filter(~goes), came]))
    nobody = pl.DataFrame(schema={"experiment": pl.UInt16})
    change(cursor, IDS, KEPT, *(VisitorRows(pl.concat(part), nobody) for part in (removed, added)))
    return after


def most_rows_of_counts(cursor: Cursor, table: str) -> float:
    """Count the rows of all counts but the minutes, by the number of these counts."""
    rows = fetch_frame(cursor, f"FROM {table}")
    counts = rows.filter(~pl.col("kind").is_in([*extremes.LISTS, extremes.MINUTES]))
    return counts.height / counts.n_unique(["kind", "goal", "variant", "number", "senders"])


@pytest.mark.many(seconds=20)
def test_extremes_are_those_of_all_rows_after_every_change(cursor: Cursor) -> None:
    rng = np.random.default_rng(seed_or(3))
    rows, longest = first_rows(cursor, rng), 0
    for number, experiment_id in enumerate(IDS):
        extremes.fill(cursor, experiment_id, KEPT[number])
    for now in range(1, trials(25, 400)):
        rows = step(cursor, rows, rng, now)
        for number, experiment_id in enumerate(IDS):
            kept, table = of_table(cursor, experiment_id), visitors.result_table("extremes", experiment_id)
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE before AS FROM {table}")
            extremes.fill(cursor, experiment_id, KEPT[number])
            assert kept.equals(of_table(cursor, experiment_id)), (now, number)
            # What was changed goes on, not what was filled in.
            cursor.execute(f"CREATE OR REPLACE TABLE {table} AS FROM before")
            assert most_rows_of_counts(cursor, table) <= extremes.MOST_ROWS
            longest = max(longest, rows[number].height)
    assert longest > 10 * extremes.KEPT


def test_what_an_earlier_version_did_not_keep_is_filled_in_by_the_next_change(cursor: Cursor) -> None:
    rng = np.random.default_rng(1)
    rows = first_rows(cursor, rng)
    for experiment_id in IDS:
        cursor.execute(f"DROP TABLE IF EXISTS {visitors.result_table('extremes', experiment_id)}")
    step(cursor, rows, rng, 1)
    changed = [of_table(cursor, one) for one in IDS]
    assert all(extremes.are_kept(cursor, one) for one in IDS)
    for number, experiment_id in enumerate(IDS):
        extremes.fill(cursor, experiment_id, KEPT[number])
        assert changed[number].equals(of_table(cursor, experiment_id))


def test_an_erased_visitor_of_final_results_has_another_key_and_no_address(cursor: Cursor) -> None:
    rng = np.random.default_rng(2)
    rows = first_rows(cursor, rng)[0]
    keys = rows["visitor_key"] + 2**40
    visitors.remove(cursor, "visitors", IDS[0], rows["visitor_key"])
    add(cursor, rows.with_columns(keys, variant=pl.lit(0, pl.UInt8), address_key=pl.lit(7, pl.UInt64)), 0)
    extremes.fill(cursor, IDS[0], KEPT[0])
    assert extremes.count_rows_of(cursor, IDS[0], keys[:2]) > 0
    release_rows(cursor, IDS[0], keys[:2])
    assert extremes.count_rows_of(cursor, IDS[0], keys[:2]) == 0
    released = of_table(cursor, IDS[0])
    extremes.fill(cursor, IDS[0], KEPT[0])
    assert released.equals(of_table(cursor, IDS[0]))
