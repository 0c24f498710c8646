"""A described warehouse: 400 visitors and their orders, in DuckDB or PostgreSQL."""

from pathlib import Path

import duckdb

from pipeline.sources.definition_files import DefinedSource, read_definition

SOURCE = """
kind = "warehouse"
location = "{location}"
max_rows = 10_000

[exposures]
table = "exposures"
experiment = "Checkout"
[exposures.columns]
visitor = "visitor"
variant = "arm"
timestamp = "seen_at"
segments = ["plan"]

[[events]]
table = "orders"
event = "purchase"
[events.columns]
visitor = "visitor"
timestamp = "seen_at"
revenue = "amount"

[[experiments]]
name = "Checkout"
control = "A"
[[experiments.goals]]
name = "Bought"
goal_type = "custom_event"
config = {{event_name = "purchase"}}
is_primary = true
[[experiments.goals]]
name = "Spent"
goal_type = "revenue"
"""
# 400 visitors, of whom each third one of A and each second one of B buys once.
EXPOSURES = """
CREATE TABLE exposures AS
SELECT CAST(n AS VARCHAR) AS visitor, CASE WHEN n % 2 = 0 THEN 'A' ELSE 'B' END AS arm,
  CAST(TIMESTAMP '2026-02-01 08:00:00' AS TIMESTAMP) + n * INTERVAL '10 minutes' AS seen_at,
  CASE WHEN n % 5 = 0 THEN 'pro' ELSE 'free' END AS plan
FROM generate_series(1, 400) AS numbers(n)
"""
ORDERS = """
CREATE TABLE orders AS
SELECT visitor, seen_at + INTERVAL '30 minutes' AS seen_at, CAST(19.99 AS DOUBLE PRECISION) AS amount
FROM exposures WHERE CAST(visitor AS INTEGER) % 6 = 0 OR CAST(visitor AS INTEGER) % 4 = 1
"""


def described(folder: Path, location: str, text: str = SOURCE) -> DefinedSource:
    """Describe a warehouse in `shop.toml`."""
    path = folder / "shop.toml"
    path.write_text(text.format(location=location))
    return read_definition(path)


def a_warehouse(folder: Path) -> DefinedSource:
    """Make the tables in a DuckDB file, and describe it."""
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(EXPOSURES)
        connection.execute(ORDERS)
    return described(folder, "shop.duckdb")
