"""The rollup of `many_events`, written by hand for these two experiments and nothing else."""

from pathlib import Path
from typing import Any, Final

import polars as pl

SEGMENTS: Final = ("traffic_source", "device_type", "visitor_type", "os", "country", "region", "browser")
_EVENTS: Final = '"events_prj_bench"'
_REPEATS: Final = f"""
SELECT e.seq FROM {_EVENTS} e
JOIN (SELECT event_key, min(seq) AS first_seq FROM {_EVENTS} GROUP BY event_key HAVING count(*) > 1) t
USING (event_key) WHERE e.seq > t.first_seq
"""
_HITS: Final = f"""
orders AS (
  SELECT visitor_key, occurred_at, is_refund, if(is_refund, -revenue_cents, revenue_cents) AS cents
  FROM {_EVENTS} ANTI JOIN repeats USING (seq)
  WHERE type = 'conversion' AND event_name = 'purchase' AND NOT is_bot AND currency = 'USD'
  QUALIFY is_refund OR row_number() OVER (PARTITION BY transaction_key, is_refund ORDER BY seq) = 1
),
thanks AS (
  SELECT visitor_key, occurred_at FROM {_EVENTS} ANTI JOIN repeats USING (seq)
  WHERE type = 'pageview' AND url = 'https://shop.example/thanks' AND NOT is_bot
)
"""

TOTALS_SQL: Final = f"""
WITH repeats AS ({_REPEATS}), {_HITS},
first AS (
  SELECT experiment_id, visitor_key, min(occurred_at) AS seen_at, min(variant_id) AS variant_id
  FROM {_EVENTS} ANTI JOIN repeats USING (seq) WHERE type = 'exposure' AND NOT is_bot
  GROUP BY ALL HAVING min(variant_id) = max(variant_id)
),
bought AS (
  SELECT experiment_id, variant_id, visitor_key, bool_or(NOT is_refund) AS bought, sum(cents) AS cents
  FROM first JOIN orders USING (visitor_key) WHERE occurred_at >= seen_at GROUP BY ALL
),
thanked AS (
  SELECT DISTINCT experiment_id, variant_id, visitor_key
  FROM first JOIN thanks USING (visitor_key) WHERE occurred_at >= seen_at
)
SELECT experiment_id, v.visitors, b.orders, t.thanks, b.cents, b.squares
FROM (SELECT experiment_id, variant_id, count(*) AS visitors FROM first GROUP BY ALL) v
JOIN (
  SELECT experiment_id, variant_id, count_if(bought) AS orders, sum(cents) AS cents,
    sum(cents::HUGEINT * cents) AS squares FROM bought GROUP BY ALL
) b USING (experiment_id, variant_id)
JOIN (SELECT experiment_id, variant_id, count(*) AS thanks FROM thanked GROUP BY ALL) t
USING (experiment_id, variant_id)
ORDER BY experiment_id, variant_id
"""

_ROWS: Final = f"""
CREATE TABLE lean_visitors AS
WITH {_HITS},
first AS (
  SELECT experiment_id, visitor_key, min(variant_id) AS variant_id,
    arg_min(row(occurred_at, {", ".join(SEGMENTS)}), row(occurred_at, seq)) AS seen
  FROM {_EVENTS} ANTI JOIN repeats USING (seq) WHERE type = 'exposure' AND NOT is_bot
  GROUP BY ALL HAVING min(variant_id) = max(variant_id)
),
who AS (
  SELECT experiment_id, visitor_key, variant_id, seen[1] AS seen_at,
    {", ".join(f"seen[{place}] AS {name}" for place, name in enumerate(SEGMENTS, start=2))} FROM first
),
bought AS (
  SELECT experiment_id, visitor_key, min(occurred_at) FILTER (NOT is_refund) AS bought_at,
    sum(cents)::BIGINT AS cents
  FROM who JOIN orders USING (visitor_key) WHERE occurred_at >= seen_at GROUP BY ALL
),
thanked AS (
  SELECT experiment_id, visitor_key, min(occurred_at) AS thanked_at
  FROM who JOIN thanks USING (visitor_key) WHERE occurred_at >= seen_at GROUP BY ALL
)
SELECT *, ({{day}}(seen_at))::INTEGER AS seen_day, ({{day}}(bought_at))::INTEGER AS bought_day,
  ({{day}}(thanked_at))::INTEGER AS thanked_day
FROM who LEFT JOIN bought USING (experiment_id, visitor_key)
LEFT JOIN thanked USING (experiment_id, visitor_key)
""".replace("{day}", "epoch_day")
# Days of UTC: the zone's rules would only slow the peer down.
_DAY: Final = "CREATE TEMP MACRO epoch_day(moment) AS moment // 86400000000"


def _sums(name: str, dimension: str) -> str:
    days = ("seen_day", "bought_day", "thanked_day")
    sets = ", ".join(f"(experiment_id, variant_id, {dimension}{day})" for day in days)
    return f"""
    CREATE TABLE lean_sums_{name} AS
    SELECT experiment_id, variant_id, {dimension} {", ".join(days)}, count(*) AS visitors,
      count(bought_at) AS orders, count(thanked_at) AS thanks, sum(cents) AS cents,
      sum(cents::HUGEINT * cents) AS squares
    FROM lean_visitors GROUP BY GROUPING SETS ({sets})
    """


EVERY_SUM_SQL: Final = (
    f"CREATE TEMP TABLE repeats AS {_REPEATS}",
    _DAY,
    _ROWS,
    _sums("everyone", ""),
    *(_sums(name, f"{name}, ") for name in SEGMENTS),
)
TOTALS_FROM_ROWS_SQL: Final = """
SELECT experiment_id, sum(visitors), sum(orders), sum(thanks), sum(cents), sum(squares)
FROM lean_sums_everyone WHERE seen_day IS NOT NULL
GROUP BY experiment_id, variant_id ORDER BY experiment_id, variant_id
"""

# Each user's first visitor stands for all of the user's visitors.
_JOINED: Final = f"""
CREATE TEMP VIEW joined_events AS
WITH links AS (
  SELECT visitor_key, user_key, min(seq) AS seq FROM {_EVENTS} WHERE user_key IS NOT NULL GROUP BY ALL
),
persons AS (
  SELECT visitor_key, first_value(visitor_key) OVER (PARTITION BY user_key ORDER BY seq) AS person_key
  FROM links
)
SELECT e.* REPLACE (coalesce(p.person_key, e.visitor_key) AS visitor_key)
FROM {_EVENTS} e LEFT JOIN persons p USING (visitor_key)
"""


def with_user_ids(*statements: str) -> tuple[str, ...]:
    """Make the statements count the visitors of a user as one."""
    return _JOINED, *(statement.replace(_EVENTS, "joined_events") for statement in statements)


def polars_totals(path: Path, *, identified: bool = False) -> list[list[Any]]:
    """Count the totals from a Parquet file, streaming; a user's visitors as one if `identified`."""
    events = pl.scan_parquet(path)
    if identified:
        links = events.filter(pl.col("user_key").is_not_null()).group_by("visitor_key", "user_key")
        persons = (
            links.agg(pl.col("seq").min())
            .select(
                "visitor_key",
                pl.col("visitor_key").sort_by("seq").first().over("user_key").alias("person_key"),
            )
            .collect(engine="streaming")
            .lazy()
        )
        person = pl.coalesce("person_key", "visitor_key").alias("visitor_key")
        events = events.join(persons, on="visitor_key", how="left").with_columns(person)
    twice = (
        events.group_by("event_key")
        .agg(pl.col("seq").min().alias("first_seq"), pl.len())
        .filter(pl.col("len") > 1)
    )
    repeats = (
        events.select("event_key", "seq")
        .join(twice, on="event_key")
        .filter(pl.col("seq") > pl.col("first_seq"))
        .select("seq")
        .collect(engine="streaming")
        .lazy()
    )
    counted = events.filter(~pl.col("is_bot")).join(repeats, on="seq", how="anti")
    variant = pl.col("variant_id")
    first = (
        counted.filter(pl.col("type") == "exposure")
        .group_by("experiment_id", "visitor_key")
        .agg(pl.col("occurred_at").min().alias("seen_at"), variant.min(), variant.max().alias("highest"))
        .filter(variant == pl.col("highest"))
        .collect(engine="streaming")
        .lazy()
    )
    is_order = (
        (pl.col("type") == "conversion")
        & (pl.col("event_name") == "purchase")
        & (pl.col("currency") == "USD")
    )
    orders = counted.filter(is_order).select(
        "visitor_key", "occurred_at", "seq", "revenue_cents", "transaction_key", "is_refund"
    )
    first_seq = pl.col("seq").min().over("transaction_key", "is_refund")
    once = orders.filter(pl.col("is_refund") | (pl.col("seq") == first_seq))
    cents = pl.when("is_refund").then(-pl.col("revenue_cents")).otherwise("revenue_cents")
    done = pl.col("occurred_at") >= pl.col("seen_at")
    bought = (
        once.join(first, on="visitor_key")
        .filter(done)
        .group_by("experiment_id", "variant_id", "visitor_key")
        .agg(cents.sum().alias("cents"), (~pl.col("is_refund")).any().alias("bought"))
        .group_by("experiment_id", "variant_id")
        .agg(
            pl.col("bought").sum().alias("orders"),
            pl.col("cents").sum(),
            (pl.col("cents") ** 2).sum().alias("squares"),
        )
    )
    thanked = (
        counted.filter((pl.col("type") == "pageview") & (pl.col("url") == "https://shop.example/thanks"))
        .select("visitor_key", "occurred_at")
        .join(first, on="visitor_key")
        .filter(done)
        .group_by("experiment_id", "variant_id")
        .agg(pl.col("visitor_key").n_unique().alias("thanks"))
    )
    arm = ["experiment_id", "variant_id"]
    totals = (
        first.group_by(arm)
        .agg(pl.len().alias("visitors"))
        .join(bought, on=arm)
        .join(thanked, on=arm)
        .sort(arm)
    )
    columns = ("experiment_id", "visitors", "orders", "thanks", "cents", "squares")
    return [list(row) for row in totals.select(columns).collect(engine="streaming").rows()]
