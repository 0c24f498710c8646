"""The DAG for Airflow, run by `airflow dags test` in an environment of its own against a service."""

import os
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from api.app import create_app
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from tests.api.serving import served
from tests.recipes.environments import ROOT, installed

SOURCES = {
    "1-exposures": """
kind = "exposures"
location = "../seen.parquet"
experiment = "Button"
[columns]
visitor = "user"
timestamp = "at"
variant = "group"
[[experiments]]
name = "Button"
control = "old"
goals = [{ name = "Order", goal_type = "custom_event", config = { event_name = "order" } }]
statistics = { minimum_effect_percent = 50 }
""",
    "2-orders": """
kind = "events"
location = "../orders.parquet"
event = "order"
[columns]
visitor = "user"
timestamp = "at"
event_id = "number"
""",
}
BRANCHES = {"ship", "roll_back", "ask_a_person", "keep_running"}


def fill(store: Path) -> None:
    """Describe the sources of a test in which 30% of visitors order with `new`, and 10% with `old`."""
    (store / "sources").mkdir(parents=True)
    for name, text in SOURCES.items():
        (store / "sources" / f"{name}.toml").write_text(text)
    # Two weeks, as nothing is decided before seven days.
    times = [datetime(2026, 3, 2, tzinfo=UTC) + timedelta(minutes=20 * number) for number in range(1_000)]
    users = [f"u{number}" for number in range(1_000)]
    seen = pl.DataFrame({"user": users, "at": times, "group": ["new", "old"] * 500})
    seen.write_parquet(store / "seen.parquet")
    ordered = [number for number in range(1_000) if number % 20 < (6 if number % 2 == 0 else 2)]
    orders = pl.DataFrame(
        {
            "user": [users[number] for number in ordered],
            "at": [times[number] + timedelta(hours=1) for number in ordered],
            "number": ordered,
        }
    )
    orders.write_parquet(store / "orders.parquet")


def first_import(store: Path) -> dict[str, str]:
    """Import the exposures, which creates the experiment; returns the variables of the DAG."""
    truelift = Path(sys.prefix) / "bin" / "truelift"
    init = ["init", "--data-dir", str(store), "--account", "Shop", "--email", "me@example.com"]
    exposures = ["import", "--data-dir", str(store), "--source", str(store / "sources" / "1-exposures.toml")]
    for command in (init, exposures):
        subprocess.run([truelift, *command], check=True, stdout=subprocess.DEVNULL)
    with closing(Catalog.open(Settings(data_dir=store))) as catalog:
        (project,) = catalog.projects.all()
        (experiment,) = catalog.experiments.of_project(project.id)
        (member,) = catalog.members.accepted(project.account_id)
        scopes = ["projects:write", "results:read"]
        _, token = catalog.keys.create(project.account_id, member.id, "Airflow", scopes)
    return {"KEY": token, "PROJECT": project.id, "EXPERIMENT": experiment.id}


@pytest.mark.long(seconds=80)
def test_the_dag_imports_waits_reads_the_verdict_and_branches(tmp_path: Path) -> None:
    programs, store = installed(tmp_path / "airflow", "apache-airflow>=3.3,<4"), tmp_path / "store"
    fill(store)
    variables = first_import(store)
    settings = Settings(data_dir=store)
    with served(create_app(settings), settings) as service:
        variables["URL"] = str(service.base_url).rstrip("/")
        environment = {
            **os.environ,
            **{f"AIRFLOW_VAR_TRUELIFT_{name}": value for name, value in variables.items()},
            "AIRFLOW_HOME": str(tmp_path / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "recipes" / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        }
        for arguments in (["db", "migrate"], ["dags", "test", "truelift_night"]):
            command = [str(programs / "airflow"), *arguments]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=400, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout + done.stderr
    ended = [task for task in BRANCHES if f"end task task_id={task} " in printed]
    assert ended == ["ship"], printed
