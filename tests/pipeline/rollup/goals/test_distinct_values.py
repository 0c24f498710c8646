"""The first event of each value of a field."""

import polars as pl

from pipeline.rollup.goals.distinct_values import is_first_of_value


def test_the_first_event_of_each_value_counts_before_and_since() -> None:
    rows = [
        # Occurred at, number, value, refund, wanted.
        (5, 3, 1, False, True),
        (5, 4, 1, False, False),
        (4, 9, 2, True, False),
        (7, 2, 2, False, True),
        (8, 1, None, False, False),
        (-3, 5, 1, False, True),
        (-2, 6, 1, False, False),
    ]
    schema = ["occurred_at", "seq", "field_key", "is_refund", "wanted"]
    events = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        experiment=pl.lit(0), visitor_key=pl.lit(7), goal=pl.lit(0)
    )
    found = events.select(is_first_of_value(pl.col("occurred_at") < 0).alias("found"))["found"]
    assert found.to_list() == events["wanted"].to_list()


def test_visitors_and_goals_have_values_of_their_own() -> None:
    events = pl.DataFrame(
        {"experiment": [0, 0, 1, 0], "visitor_key": [7, 8, 7, 7], "goal": [0, 0, 0, 1], "seq": [1, 2, 3, 4]}
    ).with_columns(occurred_at=pl.lit(5), field_key=pl.lit(1), is_refund=pl.lit(value=False))
    assert events.select(is_first_of_value(pl.lit(value=False)).alias("found"))["found"].all()
