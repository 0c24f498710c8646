import polars as pl

from pipeline.rollup.count_visitors import find_first_exposures
from pipeline.rollup.counting_rules import FLAGGED_AS_BOT, SEVERAL_VARIANTS


def test_the_first_exposure_sets_variant_and_segments() -> None:
    exposures = pl.DataFrame(
        [
            (0, 0, 1, 50, 1, False, "late"),
            (0, 0, 1, 40, 2, False, "early"),
            (0, 0, 2, 10, 3, False, "first"),
            (0, 1, 2, 20, 4, False, "second"),
            (0, 1, 3, 30, 5, True, "flagged"),
        ],
        schema={
            "experiment": pl.UInt16,
            "variant": pl.UInt8,
            "visitor_key": pl.UInt64,
            "occurred_at": pl.Int64,
            "seq": pl.Int64,
            "is_bot": pl.Boolean,
            "country": pl.String,
        },
        orient="row",
    )
    found = find_first_exposures(exposures, "UTC").sort("visitor_key")
    assert found["variant"].to_list() == [0, SEVERAL_VARIANTS, FLAGGED_AS_BOT]
    assert found["country"].to_list() == ["early", "first", "flagged"]
    assert found["first_exposed_at"].to_list() == [40, 10, 30]
