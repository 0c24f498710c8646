"""Sample data: one simulated experiment as visitors.csv and events.csv."""

from pathlib import Path

import numpy as np
import polars as pl

import truelift

# A draw whose observed lift lies near the true one.
SEED = 8
VISITORS = 6_000
BASE_RATE = 0.10
LIFT = 0.20
REFUNDED_SHARE = 0.05
FOLDER = Path(__file__).parent
SEGMENTS = ("device_type", "country", "visitor_type", "traffic_source")
EVENT_COLUMNS = (
    *("event_id", "type", "kind", "visitor_id", "timestamp", "event_name", "revenue_cents", "currency"),
    "transaction_id",
)


def simulated() -> pl.DataFrame:
    """Draw the visitors, with times in whole seconds."""
    visitors = truelift.simulate(
        VISITORS, seed=SEED, lifts={"control": 0.0, "treatment": LIFT}, base_rate=BASE_RATE
    )
    return visitors.with_columns(pl.col("first_seen", "converted_at").dt.truncate("1s"))


def visitor_rows(visitors: pl.DataFrame) -> pl.DataFrame:
    """One row a visitor."""
    return visitors.select(
        "visitor_id",
        "variant",
        _text("first_seen"),
        *SEGMENTS,
        pl.col("converted").cast(pl.Int8),
        "revenue",
        "revenue_before",
    )


def event_rows(visitors: pl.DataFrame) -> pl.DataFrame:
    """One row an order before the experiment, or a refund of an order in it."""
    rng = np.random.default_rng(SEED)
    days_before = pl.Series(rng.uniform(0.5, 13.5, visitors.height))
    days_after = pl.Series(rng.uniform(1.0, 5.0, visitors.height))
    is_refunded = pl.Series(rng.random(visitors.height) < REFUNDED_SHARE)
    before = visitors.filter(pl.col("revenue_before") > 0).select(
        "visitor_id",
        pl.lit("conversion").alias("kind"),
        (pl.col("first_seen") - _days(days_before.filter(visitors["revenue_before"] > 0))).alias("timestamp"),
        pl.col("revenue_before").alias("revenue"),
        pl.format("before-{}", "visitor_id").alias("transaction_id"),
    )
    refunded = visitors["converted"] & is_refunded
    refunds = visitors.filter(refunded).select(
        "visitor_id",
        pl.lit("refund").alias("kind"),
        (pl.col("converted_at") + _days(days_after.filter(refunded))).alias("timestamp"),
        "revenue",
        pl.format("refund-{}", "visitor_id").alias("transaction_id"),
    )
    return (
        pl.concat([before, refunds])
        .sort("timestamp", "visitor_id")
        .with_columns(
            _text("timestamp"),
            event_id="transaction_id",
            type=pl.lit("conversion"),
            event_name=pl.lit("revenue"),
            revenue_cents=(pl.col("revenue") * 100).round().cast(pl.Int64),
            currency=pl.lit("USD"),
        )
        .select(EVENT_COLUMNS)
    )


def _days(days: pl.Series) -> pl.Series:
    return (days * 86_400).cast(pl.Int64).cast(pl.Duration("ms")) * 1000


def _text(column: str) -> pl.Expr:
    return pl.col(column).dt.strftime("%Y-%m-%dT%H:%M:%SZ")


def write(folder: Path = FOLDER) -> None:
    """Write both files into `folder`."""
    visitors = simulated()
    visitor_rows(visitors).write_csv(folder / "visitors.csv", float_precision=2)
    event_rows(visitors).write_csv(folder / "events.csv")


if __name__ == "__main__":
    write()
