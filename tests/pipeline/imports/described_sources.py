"""Sources of a shop: rows of exposures and orders, written to files, databases and lakes."""

import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.imports.source_import import ImportedSource, import_source
from pipeline.sources.definition_files import read_definition
from tests.pipeline.working_store import WorkingStore

EXPOSURES = """
kind = "exposures"
location = "exposures.parquet"

[columns]
visitor = "who"
timestamp = "at"
variant = "arm"
event_id = "id"
segments = ["user_agent", "country", "plan"]

[[experiments]]
name = "Checkout"
control = "A"
goals = [
  { name = "Order", goal_type = "custom_event", config = { event_name = "order" } },
  { name = "Revenue", goal_type = "revenue", config = { event_name = "order" } },
]
"""
ORDERS = """
kind = "events"
location = "orders.parquet"
event = "order"

[columns]
visitor = "who"
timestamp = "at"
revenue = "paid"
transaction = "order_number"
event_id = "id"
"""
_BEGAN = utc_now().replace(microsecond=0) - timedelta(days=29)
_BROWSER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36"
_BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


def shop_rows(events: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Make so many exposures and orders: three variants, bots, repeats, refunds, and orders of any time."""
    generator = random.Random(12)  # noqa: S311 - repeatable, and no secret
    exposures: list[dict[str, Any]] = []
    orders: list[dict[str, Any]] = []
    while len(exposures) + len(orders) < events:
        number = len(exposures)
        # Some are seen again, some in another variant.
        who = f"v{generator.randrange(events // 2)}"
        arm = "ABC"[hash_of(who) % 3] if generator.random() < 0.99 else "A"
        at = _BEGAN + timedelta(seconds=generator.randrange(12 * 86_400))
        exposures.append(
            {
                "id": f"x{number}",
                "who": who,
                "at": at,
                "arm": arm,
                "user_agent": _BOT if generator.random() < 0.05 else _BROWSER,
                "country": generator.choice(["DE", "US", None]),
                "plan": generator.choice(["free", "paid"]),
            }
        )
        if generator.random() < 0.5:
            # Before the exposure, soon after it, and after any window.
            later = timedelta(hours=generator.choice([-5, 1, 100, 24 * 15]))
            order: dict[str, Any] = {
                "id": f"o{len(orders)}",
                "who": who,
                "at": at + later,
                "paid": generator.randrange(100, 9_000) / 100,
                "order_number": f"n{number}",
            }
            orders.append(order)
            if generator.random() < 0.1:
                orders.append({**order, "id": f"again{number}"})
            if generator.random() < 0.1:
                orders.append({**order, "id": f"r{number}", "paid": -order["paid"] / 2})
    return exposures, orders


def hash_of(text: str) -> int:
    """Hash a text, the same in every process."""
    return sum(ord(letter) * place for place, letter in enumerate(text, 1))


def describe(folder: Path, name: str, text: str, changes: Mapping[str, str] | None = None) -> Path:
    """Write the file that describes a source, with some of its text replaced."""
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def import_described(store: WorkingStore, project: Project, *paths: Path) -> list[ImportedSource]:
    """Import the sources that files describe, in that order."""
    return [import_source(read_definition(path), project, store=store) for path in paths]


def write_shop(folder: Path, exposures: list[dict[str, Any]], orders: list[dict[str, Any]]) -> None:
    """Write the rows to the Parquet files that the sources name."""
    for name, rows in (("exposures", exposures), ("orders", orders)):
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / f"{name}.parquet")
