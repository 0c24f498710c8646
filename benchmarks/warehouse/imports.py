"""Import of a described source of Parquet files, against DuckDB's bare INSERT … SELECT of the same files."""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb

from engine.design.project import draft_project
from pipeline.clock import utc_now
from pipeline.imports.source_import import import_source
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.sources.definition_files import read_definition

SIZES: Final = (200_000, 1_000_000)
_ROWS: Final = """COPY (
  SELECT 'visitor-' || i AS visitor, to_timestamp(1767225600 + i % 864000) AS "at",
    if(hash(i) % 2 = 0, 'A', 'B') AS variant, ['DE', 'FR', 'US', 'JP'][1 + i % 4] AS country
  FROM range({rows}) t(i)
) TO '{file}' (FORMAT parquet)"""
_TABLE: Final = 'CREATE TABLE rows (visitor VARCHAR, "at" TIMESTAMPTZ, variant VARCHAR, country VARCHAR)'
_SOURCE: Final = """kind = "exposures"
location = "rows.parquet"
experiment = "Checkout"
[columns]
visitor = "visitor"
timestamp = "at"
variant = "variant"
segments = ["country"]
[[experiments]]
name = "Checkout"
control = "A"
goals = [{name = "Order", goal_type = "custom_event", config = {event_name = "order"}}]
"""


def run_in_parts() -> Iterator[list[dict[str, Any]]]:
    """Measure each size in processes of their own, so that each has its own peak of memory."""
    for rows in SIZES:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "rows.parquet"
            duckdb.sql(_ROWS.format(rows=rows, file=file))
            (Path(folder) / "seen.toml").write_text(_SOURCE)
            bare, imported = (_measured(name, folder) for name in ("bare", "imported"))
        yield [
            {
                "rows": f"{rows:,}",
                "bare INSERT … SELECT": f"{bare[0]:.2f} s, {bare[1]:,.0f} MiB",
                "import": f"{imported[0]:.2f} s, {imported[1]:,.0f} MiB",
                "ratio": f"{imported[0] / bare[0]:.1f}",
            }
        ]


def _measured(name: str, folder: str) -> tuple[float, float]:
    """Return the seconds of processor time, and the largest memory in MiB."""
    command = [sys.executable, "-m", "benchmarks.warehouse.imports", name, folder]
    seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(peak)


def _bare(folder: Path) -> float:
    with duckdb.connect(folder / "bare.duckdb") as connection:
        connection.sql(_TABLE)
        before = time.process_time()
        connection.sql(f"INSERT INTO rows SELECT * FROM '{folder / 'rows.parquet'}'")
        connection.sql("CHECKPOINT")
        return time.process_time() - before


def _imported(folder: Path) -> float:
    with open_pipeline(Settings(data_dir=folder / "store")) as store:
        account, *_ = store.catalog.accounts.create("Shop", "owner@shop.example", "scale")
        drafted = draft_project(
            {"name": "Shop", "url": "https://shop.example"},
            id="prj_bench",
            account_id=account.id,
            sdk_key="pk_bench",
            now=utc_now(),
        )
        project = store.catalog.projects.create(drafted, actor="benchmark")
        before = time.process_time()
        import_source(read_definition(folder / "seen.toml"), project, store=store)
        return time.process_time() - before


if __name__ == "__main__":
    spent = {"bare": _bare, "imported": _imported}[sys.argv[1]](Path(sys.argv[2]))
    print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
