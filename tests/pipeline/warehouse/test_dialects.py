"""Statements in each dialect: they parse, and are as recorded; what cannot be counted is refused by name.

`python -m tests.pipeline.warehouse.test_dialects` records them anew.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from engine.design.experiment import Experiment
from engine.local_days import epoch_microseconds
from pipeline.rollup.counting_rules import CountingRules
from pipeline.verification.sample_shop import TABLES
from pipeline.warehouse.dialects.dialect_table import DIALECTS
from pipeline.warehouse.goal_rules import UncountableError
from pipeline.warehouse.statement import statement_of
from pipeline.warehouse.team_tables import UnreadableQueryError
from tests.builders import NOW, a_goal, a_project, an_experiment

RECORDED = Path(__file__).parent / "recorded"
NOT_RUN = ("databricks", "snowflake", "bigquery")


def _statement(engine: str, experiment: Experiment, **changes: Any) -> str:
    rules = CountingRules.of(a_project(reporting_timezone="America/New_York"))
    tables = replace(TABLES, **changes)
    built = statement_of(tables, [(experiment, rules)], DIALECTS[engine], now_us=epoch_microseconds(NOW))
    return built.sql(pretty=True) + "\n"


def _an_experiment(**fields: Any) -> Experiment:
    goal = a_goal(**{"goal_type": "revenue", "config": {"cap_percentile": 99}, **fields})
    return an_experiment(status="running", goals=(goal,))


@pytest.mark.parametrize("engine", DIALECTS)
def test_a_statement_parses_in_its_dialect(engine: str) -> None:
    text, name = _statement(engine, _an_experiment()), DIALECTS[engine].name
    assert sqlglot.parse_one(text, read=name).sql(name, pretty=True) + "\n" == text


@pytest.mark.parametrize("engine", NOT_RUN)
def test_a_statement_that_no_test_runs_is_as_recorded(engine: str) -> None:
    recorded = (RECORDED / f"{engine}.sql").read_text(encoding="utf-8")
    assert _statement(engine, _an_experiment()) == recorded


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"config": {"event_name": "view", "measure": "quantile"}}, "buckets of 1%"),
        ({"goal_type": "pageview", "config": {"url": "/thanks"}}, "make it a custom_event"),
        (
            {"goal_type": "ga4_event", "config": {"event_name": "view", "value_param": "points"}},
            "name that column as value",
        ),
        ({"config": {"event_name": "view", "measure": "distinct", "field": "custom:sku"}}, "no segment"),
    ],
)
def test_what_sql_cannot_count_is_refused_by_the_name_of_the_goal(
    fields: dict[str, Any], reason: str
) -> None:
    experiment = _an_experiment(**{"goal_type": "custom_event", "name": "Odd one", **fields})
    with pytest.raises(UncountableError, match=f"'Odd one'.*{reason}"):
        _statement("duckdb", experiment)


def test_an_experiment_of_other_units_and_one_that_has_not_started_are_refused() -> None:
    experiment = _an_experiment(config={})
    with pytest.raises(UncountableError, match="a warehouse counts visitors"):
        _statement("duckdb", replace(experiment, unit="user"))
    with pytest.raises(UncountableError, match="has not started"):
        _statement("duckdb", replace(experiment, status="draft", started_at=None))


@pytest.mark.parametrize("query", ["DELETE FROM exposures", "SELECT 1; SELECT 2", "SELECT FROM WHERE"])
def test_a_query_that_is_no_single_select_is_refused(query: str) -> None:
    exposures = TABLES.exposures.model_copy(update={"table": None, "sql": query})
    with pytest.raises(UnreadableQueryError):
        _statement("postgresql", _an_experiment(), exposures=exposures)


if __name__ == "__main__":
    for one in NOT_RUN:
        (RECORDED / f"{one}.sql").write_text(_statement(one, _an_experiment()), encoding="utf-8")
