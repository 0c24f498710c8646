from dataclasses import replace

import polars as pl

from engine.local_days import epoch_microseconds
from pipeline.rollup.holdout_visitors import starts_of_holdouts, without_seen_before
from tests.builders import NOW, an_experiment
from tests.engine.design.test_holdout import a_holdout


def test_only_holdouts_leave_visitors_from_before_out() -> None:
    holdout = replace(a_holdout(), id="hld_2")
    starts = starts_of_holdouts([an_experiment(status="running"), holdout])
    assert starts == {1: epoch_microseconds(NOW)}
    firsts = pl.DataFrame(
        {"experiment": [0, 0, 1, 1, 1], "visitor_key": [1, 2, 1, 2, 3], "seq": [1, 2, 3, 4, 5]},
        schema={"experiment": pl.UInt32, "visitor_key": pl.UInt64, "seq": pl.Int64},
    )
    # The second visitor has two devices, one of them from before; of the third nothing is known.
    sights = pl.DataFrame(
        {"visitor_key": [1, 2, 2], "first_seen_at": [starts[1], starts[1] + 5, starts[1] - 1]},
        schema={"visitor_key": pl.UInt64, "first_seen_at": pl.Int64},
    )
    kept = without_seen_before(firsts, sights, starts)
    assert kept["seq"].to_list() == [1, 2, 3, 5]
    assert kept.columns == firsts.columns
