from pathlib import Path

import polars as pl

from pipeline.settings import Settings
from pipeline.store.warehouse import visitor_totals, visitors
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.visitor_totals import CountedExperiment, Totals

MINUTE = 60_000_000


def test_a_visitor_of_two_experiments_is_counted_once(tmp_path: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path))
    no_orders = pl.DataFrame(schema={"visitor_key": pl.UInt64})
    with warehouse.transaction() as cursor:
        for experiment_id, keys in (("exp_1", [1, 2]), ("exp_2", [2, 3])):
            rows = pl.DataFrame({"visitor_key": pl.Series(keys, dtype=pl.UInt64)})
            visitors.recreate(cursor, experiment_id, goals=1)
            visitors.add(
                cursor,
                experiment_id,
                rows.with_columns(
                    variant=0,
                    first_exposed_at=pl.lit(keys[0] * MINUTE),
                    first_day=0,
                    g0_at=keys[0] * MINUTE,
                    g0_cents=0,
                ),
                no_orders,
            )
        counted = [CountedExperiment("exp_1", 2, 0), CountedExperiment("exp_2", 2, None)]
        totals = visitor_totals.count(cursor, counted, first=2)
        assert visitor_totals.count(cursor, [], first=0) == Totals()
    warehouse.close()
    # One visitor was seen, and two bought, before the second minute.
    assert totals == Totals(3, 2, 2, 0)
