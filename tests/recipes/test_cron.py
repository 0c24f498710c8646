"""The crontab's command, run with no more than cron gives it."""

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = """
kind = "visitors"
location = "../visits.parquet"
control = "A"
goals = { bought = "conversion" }
name = "Page"
[columns]
visitor = "user"
variant = "page"
"""


def crontab_line() -> str:
    lines = (ROOT / "recipes" / "cron" / "truelift.crontab").read_text().splitlines()
    (command,) = [line.split(maxsplit=5)[5] for line in lines if line[0].isdigit()]
    return command


@pytest.mark.parametrize(
    ("sources", "imported", "counted", "status", "calls"),
    [
        (0, 0, 0, 0, ["rollup"]),
        (1, 0, 3, 3, ["import", "rollup"]),
        (1, 4, 0, 4, ["import", "rollup"]),
        (1, 4, 3, 4, ["import", "rollup"]),
        (1, 0, 1, 1, ["import", "rollup"]),
    ],
)
def test_a_night_counts_without_sources_and_after_one_that_failed(  # noqa: PLR0917 - cases
    tmp_path: Path, sources: int, imported: int, counted: int, status: int, calls: list[str]
) -> None:
    (tmp_path / "sources").mkdir()
    for number in range(sources):
        (tmp_path / "sources" / f"{number}.toml").touch()
    program = f'echo "$1" >>{tmp_path}/calls\n[ "$1" = rollup ] && exit {counted}\nexit {imported}\n'
    (tmp_path / "truelift").write_text(f"#!/bin/sh\n{program}")
    (tmp_path / "truelift").chmod(0o755)
    night = subprocess.run(
        ["/bin/sh", ROOT / "recipes" / "cron" / "nightly.sh", tmp_path],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        check=False,
    )
    assert night.returncode == status
    assert (tmp_path / "calls").read_text().split() == calls


@pytest.mark.long(seconds=28)
def test_a_night_ends_with_0_3_or_4_and_prints_what_has_to_be_read(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    store = tmp_path / "data" / "store"
    (store / "sources").mkdir(parents=True)
    (store / "sources" / "visits.toml").write_text(SOURCE)
    visits = store / "visits.parquet"
    users = [f"u{number}" for number in range(100)]
    pl.DataFrame({"user": users, "page": ["A", "B"] * 50, "bought": [1, 0, 0, 1] * 25}).write_parquet(visits)
    command = crontab_line().replace("/srv/truelift", str(tmp_path))
    environment = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/.venv/bin:/usr/bin:/bin"}

    def night() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", command], env=environment, capture_output=True, text=True, check=False
        )

    init = ["init", "--data-dir", str(store), "--account", "Shop", "--email", "me@example.com"]
    subprocess.run([tmp_path / ".venv" / "bin" / "truelift", *init], check=True, stdout=subprocess.DEVNULL)
    done = night()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    with closing(duckdb.connect(store / "warehouse.duckdb")) as warehouse:
        query = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'aggregates_%'"
        ((table,),) = warehouse.execute(query).fetchall()
        warehouse.execute(f'UPDATE "{table}" SET visitors = visitors + 1')  # noqa: S608 - a name of our own
    drifted = night()
    assert (drifted.returncode, "differed from its events" in drifted.stdout) == (3, True)

    visits.unlink()
    failed = night()
    assert (failed.returncode, "A source was not imported" in failed.stdout) == (4, True)
    assert "visits.parquet" in failed.stdout
