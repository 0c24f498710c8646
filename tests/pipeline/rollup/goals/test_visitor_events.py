"""Events of a ratio, by visitor and goal."""

import polars as pl

from pipeline.rollup.counting_rules import FLAGGED_AS_BOT, CountingRules
from pipeline.rollup.goals.visitor_events import SUMMED_COLUMNS, events_of_exposed, keys_of
from pipeline.store.warehouse.events import SENDER_BITS
from tests.builders import a_project

NO_FACTORS = CountingRules.of(a_project()).factors
HIT = {"is_refund": False, "is_value": False, "currency": "USD", "sender": SENDER_BITS["server"]}
GOAL = {
    "experiment": 0,
    "goal": 2,
    "has_amounts": True,
    "field": None,
    "values_of": None,
    "units_of_cent": 100,
    "is_revenue": False,
    "takes_value": False,
    "goal_currency": "USD",
    "min_cents": 0,
    "max_cents": 10**9,
    "trusts_servers_only": False,
    "from_us": 0,
    "window_us": 100,
    "before_us": 10,
    "step": None,
    "last_step": None,
}
NUMERATOR = {**GOAL, "match": 0, "rule": 0, "is_denominator": False, "has_denominator": True}
DENOMINATOR = {**GOAL, "match": 1, "rule": 1, "is_denominator": True, "has_denominator": False}


def test_the_parts_of_a_ratio_add_up_apart_and_the_denominator_converts() -> None:
    hits = pl.DataFrame(
        [
            {"visitor_key": key, "seq": seq, "match": match, "occurred_at": at, "cents": cents, **HIT}
            for key, seq, match, at, cents in [
                (7, 1, 0, 5, 300),
                (7, 2, 1, 6, 200),
                # In the pre-period, after the window, and of a visitor who is counted nowhere.
                (7, 3, 0, -5, 50),
                (7, 4, 0, 101, 9),
                (8, 5, 0, 5, 9),
            ]
        ],
        schema_overrides={"sender": pl.UInt8},
    )
    exposed = pl.DataFrame(
        {
            "experiment": [0, 0],
            "visitor_key": [7, 8],
            "variant": [1, FLAGGED_AS_BOT],
            "first_exposed_at": [0, 0],
        }
    )
    no_repeats = pl.DataFrame(schema={"rule": pl.Int64, "seq": pl.Int64})
    goals = pl.DataFrame([NUMERATOR, DENOMINATOR])
    events = events_of_exposed(hits, exposed, goals, no_repeats, NO_FACTORS)
    found = {
        (row, goal, SUMMED_COLUMNS[number]): sums
        for row, goal, number, *sums in events.group_by(*keys_of(pl.col("place")))
        .agg(pl.col("cents", "before").sum(), pl.col("at").drop_nulls().implode())
        .iter_rows()
    }
    assert found == {
        (0, 2, "cents"): [300, 1, [6]],
        (0, 2, "amount"): [30_000, 5_000, [6]],
        (0, 2, "denominator"): [20_000, 0, [6]],
    }
