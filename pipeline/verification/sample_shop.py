"""Sample shops: random exposures, orders and other events with every trap of counting, as tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import polars as pl

from engine.design.experiment import Experiment
from pipeline.imports.event_rows import event_batch
from pipeline.sources.definition import Source
from pipeline.verification.sample_goals import a_draft
from pipeline.warehouse.team_tables import TeamTables

# Both clock changes of the zone are in the weeks after it.
ZONE: Final = "America/New_York"
STARTED: Final = datetime(2026, 10, 20, 2, 30, tzinfo=UTC)
UNTIL: Final = STARTED + timedelta(days=40)
EXPERIMENTS: Final = 5
_HOUR: Final = timedelta(hours=1)
_CLOCK_CHANGE: Final = datetime(2026, 11, 1, 6, 0, tzinfo=UTC)
_COUNTRIES: Final = ("US", "DE", None, "")
_PLANS: Final = ("free", "pro", "Ünï", None)


@dataclass(frozen=True, slots=True)
class Shop:
    """Rows of the tables `exposures`, `orders` and `tracks`, and drafts of experiments on them."""

    tables: dict[str, pl.DataFrame]
    drafts: tuple[dict[str, Any], ...]

    def events(self, experiments: Sequence[Experiment]) -> pl.DataFrame:
        """Return the same rows as the service stores them, exposed to each experiment, in order of times."""
        shown = pl.DataFrame(
            [(one.id, variant.id, variant.name) for one in experiments for variant in one.variants],
            schema=["experiment_id", "variant_id", "arm"],
            orient="row",
        )
        exposures = (
            self.tables["exposures"]
            .join(shown, on="arm")
            .select(
                pl.lit("exposure").alias("type"),
                *("visitor", "at", "country", "plan", "experiment_id", "variant_id"),
                pl.concat_str("id", "experiment_id").alias("id"),
            )
        )
        orders = self.tables["orders"].select(
            pl.lit("conversion").alias("type"),
            pl.lit("purchase").alias("event_name"),
            *("visitor", "at", "id"),
            pl.col("currency").alias("currency"),
            pl.col("txn").alias("transaction_id"),
            (pl.col("amount") * pl.when(pl.col("currency") == "JPY").then(1).otherwise(100))
            .round()
            .abs()
            .cast(pl.Int64)
            .alias("revenue_cents"),
            ((pl.col("amount") < 0) | pl.col("refund")).alias("is_refund"),
        )
        tracks = self.tables["tracks"].select(
            pl.lit("custom_event").alias("type"),
            *("visitor", "at", "id", "value", "page"),
            pl.col("event").alias("event_name"),
        )
        rows = pl.concat(
            [exposures.filter(pl.col("variant_id").is_not_null()), orders, tracks], how="diagonal"
        )
        # An id that is none is refused where it is imported.
        rows = rows.filter(pl.col("visitor") != "null")
        custom = [
            None if plan is None and page is None else _json({"plan": plan, "page": page})
            for plan, page in rows.select("plan", "page").iter_rows()
        ]
        complete = rows.with_columns(
            pl.col("at").dt.epoch("us").alias("occurred_at"),
            pl.col("id").alias("event_id"),
            pl.col("visitor").alias("visitor_id"),
            pl.when(pl.col("country") != "").then("country").alias("country"),
            pl.lit("import").alias("sender"),
            pl.Series("custom", custom, pl.String),
        )
        order = (
            "occurred_at",
            "event_id",
            "visitor_id",
            "event_name",
            "transaction_id",
            "revenue_cents",
            "value",
        )
        return event_batch(complete.sort(order))


def _json(values: dict[str, str | None]) -> str:
    given = ",".join(f'"{key}":"{value}"' for key, value in sorted(values.items()) if value is not None)
    return "{" + given + "}"


TABLES: Final = TeamTables(
    exposures=Source.model_validate(
        {
            "kind": "exposures",
            "location": "shop.duckdb",
            "table": "exposures",
            "experiment": "Checkout button",
            "columns": {
                "visitor": "visitor",
                "variant": "arm",
                "timestamp": "at",
                "event_id": "id",
                "segments": ["country", "plan"],
            },
        }
    ),
    events=(
        Source.model_validate(
            {
                "kind": "events",
                "location": "shop.duckdb",
                "table": "orders",
                "event": "purchase",
                "columns": {
                    "visitor": "visitor",
                    "timestamp": "at",
                    "event_id": "id",
                    "revenue": "amount",
                    "currency": "currency",
                    "transaction": "txn",
                    "refund": "refund",
                },
            }
        ),
        Source.model_validate(
            {
                "kind": "events",
                "location": "shop.duckdb",
                "table": "tracks",
                "columns": {
                    "visitor": "visitor",
                    "timestamp": "at",
                    "event_id": "id",
                    "event": "event",
                    "value": "value",
                    "segments": ["page"],
                },
            }
        ),
    ),
)


def a_shop(seed: int, *, visitors: int = 60) -> Shop:
    """Make a shop of so many visitors; the same seed makes the same."""
    random = Random(seed)  # noqa: S311 - not for secrets
    ids = [f"v{number}" for number in range(visitors)] + ["V0", "V1", "null"]
    exposures, orders, tracks = [], [], []
    for visitor in ids:
        first = STARTED + timedelta(days=random.uniform(-1, 25))
        if random.random() < 0.9:
            exposures += _exposures(random, visitor, first)
        orders += _orders(random, visitor, first)
        tracks += _tracks(random, visitor, first)
    return Shop(
        {
            "exposures": _frame(random, exposures, "x"),
            "orders": _frame(random, orders, "o"),
            "tracks": _frame(random, tracks, "t"),
        },
        tuple(a_draft(random) for _ in range(EXPERIMENTS)),
    )


def _frame(random: Random, rows: list[dict[str, Any]], letter: str) -> pl.DataFrame:
    """Number the rows, and send some of them twice, a few with other content."""
    numbered = [{**row, "id": f"{letter}{number:05d}"} for number, row in enumerate(rows)]
    for row in random.sample(numbered, len(numbered) // 10):
        copy = dict(row)
        if random.random() < 0.5:
            copy["at"] += random.choice((_HOUR, -_HOUR, timedelta(days=2)))
        if "amount" in copy and random.random() < 0.5:
            copy["amount"] *= 2
        numbered.append(copy)
    random.shuffle(numbered)
    kinds: dict[str, pl.DataType | type[pl.DataType]] = {
        "at": pl.Datetime("us"),
        "amount": pl.Float64,
        "value": pl.Float64,
        "refund": pl.Boolean,
    }
    frame = pl.DataFrame(numbered, infer_schema_length=None)
    return frame.select(pl.col(name).cast(kinds.get(name, pl.String)) for name in frame.columns)


def _exposures(random: Random, visitor: str, first: datetime) -> list[dict[str, Any]]:
    arms = ["Control", "Treatment", "elsewhere"]
    own = random.choice(arms[:2])
    times = [first, *(first + timedelta(days=random.uniform(0, 9)) for _ in range(random.randrange(3)))]
    if random.random() < 0.2:
        times.append(first)
    return [
        {
            "visitor": visitor,
            "arm": own if random.random() < 0.95 else random.choice(arms),
            "at": _naive(at),
            "country": random.choice(_COUNTRIES),
            "plan": random.choice(_PLANS),
        }
        for at in times
    ]


def _orders(random: Random, visitor: str, first: datetime) -> list[dict[str, Any]]:
    rows = []
    for _ in range(random.randrange(4)):
        row: dict[str, Any] = {
            "visitor": visitor,
            "at": _naive(_some_time(random, first)),
            "amount": random.choice((0.0, 12.34, 99.99, 10.0**10, 3.0, round(random.expovariate(0.02), 2))),
            "currency": random.choice(("USD", "USD", "USD", "EUR", "JPY", None)),
            # Others may have the same transaction.
            "txn": random.choice((None, f"{visitor}-1", f"t{random.randrange(40)}")),
            "refund": random.random() < 0.15,
        }
        rows.append(row)
        if random.random() < 0.2:
            rows.append({**row, "currency": "EUR", "at": row["at"] + random.choice((timedelta(0), _HOUR))})
        if random.random() < 0.1:
            rows.append({**row, "amount": -row["amount"], "refund": False})
    return rows


def _tracks(random: Random, visitor: str, first: datetime) -> list[dict[str, Any]]:
    return [
        {
            "visitor": visitor,
            "at": _naive(_some_time(random, first)),
            "event": random.choice(("view", "cart", "purchase", "other")),
            "value": random.choice((None, 1.5, -2.25, 10.00005, 0.0, 7.0)),
            "page": random.choice(("a", "b", "c", None)),
        }
        for _ in range(random.randrange(7))
    ]


def _some_time(random: Random, first: datetime) -> datetime:
    if random.random() < 0.15:
        return first
    if random.random() < 0.15:
        return _CLOCK_CHANGE + timedelta(minutes=random.randrange(-90, 90))
    return first + timedelta(days=random.uniform(-6, 12))


def _naive(at: datetime) -> datetime:
    return at.replace(tzinfo=None)
