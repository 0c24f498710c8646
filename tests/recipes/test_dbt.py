"""The dbt project, built by dbt with its DuckDB adapter in an environment of its own, night after night."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.recipes.environments import ROOT, installed

PACKAGES = ("dbt-core>=1.11,<1.12", "dbt-duckdb>=1.11,<1.12")
START = datetime(2026, 3, 2, tzinfo=UTC)


def write_files(folder: Path, first: int, last: int) -> None:
    """Write views and orders: half of those who see `new` order, and a quarter of those who see `old`."""
    numbers = range(first, last)
    customers = [f"c{number}" for number in numbers]
    times = [START + timedelta(minutes=20 * number) for number in numbers]
    variants = ["new" if number % 2 else "old" for number in numbers]
    views = pl.DataFrame(
        {"customer": customers, "test": "Order button", "variant": variants, "country": "DE"}
    )
    # A second view of each, which dbt leaves out.
    views = pl.concat(
        views.with_columns(pl.Series("viewed_at", times) + later)
        for later in (timedelta(), timedelta(hours=3))
    )
    orders = pl.DataFrame({"order_number": numbers, "customer": customers, "amount": 20.0}).with_columns(
        pl.Series("ordered_at", times) + timedelta(hours=1)
    )
    bought = pl.Series(number % 4 == 1 or number % 8 == 0 for number in numbers)
    for name, table in (("page_views", views), ("orders", orders.filter(bought))):
        (folder / name).mkdir(parents=True, exist_ok=True)
        table.write_parquet(folder / name / f"{first}.parquet")


@pytest.mark.long(seconds=80)
def test_nights_of_dbt_import_its_tables_and_build_on_the_results(tmp_path: Path) -> None:
    programs = installed(tmp_path / "dbt", *PACKAGES)
    recipe, store, files = tmp_path / "recipe", tmp_path / "store", tmp_path / "files"
    shutil.copytree(ROOT / "recipes" / "dbt", recipe)
    shutil.copytree(recipe / "sources", store / "sources")
    environment = {
        **os.environ,
        "PATH": f"{programs}:{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
        "SHOP_FILES": str(files),
        "SHOP_WAREHOUSE": str(tmp_path / "shop.duckdb"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    init = run("truelift", "init", "--data-dir", str(store), "--account", "Shop", "--email", "me@example.com")
    assert init.returncode == 0, init.stderr
    night = ("sh", str(recipe / "nightly.sh"), str(store), "Order button")
    found = []
    # The second night has the first one's files too, and the third adds nothing.
    for first, last in ((0, 400), (400, 800), (400, 800)):
        write_files(files, first, last)
        done = run(*night)
        assert done.returncode == 0, done.stdout + done.stderr
        with closing(duckdb.connect(tmp_path / "shop.duckdb", read_only=True)) as warehouse:
            found.append(warehouse.sql("SELECT * FROM order_values ORDER BY variant").fetchall())
    assert found == [
        [("new", 200, 100, 2_000), ("old", 200, 50, 1_000)],
        [("new", 400, 200, 4_000), ("old", 400, 100, 2_000)],
        [("new", 400, 200, 4_000), ("old", 400, 100, 2_000)],
    ]

    # The same orders in a further file fail dbt's test of their numbers: nothing is imported.
    shutil.copy(files / "orders" / "400.parquet", files / "orders" / "again.parquet")
    failed = run(*night)
    assert (failed.returncode, "unique_orders_order_number" in failed.stdout) == (1, True)
    assert "1-exposures" not in failed.stdout
