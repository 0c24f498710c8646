"""Table of decisions: figures beside their bars, saved as they are, and a failure where one is missed."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from engine.calibration.decisions import daily_decisions, standard_cases
from engine.calibration.decisions.decision_case import DecisionCase
from tests.api.cli.conftest import Run

CASE = DecisionCase(rate=0.3, plan_day=10.0)


@pytest.fixture(autouse=True)
def _few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_cases, "DEFAULT_CASES", (CASE,))
    monkeypatch.setattr(standard_cases, "ALL_CASES", (CASE, replace(CASE, secondary=5)))


def test_a_table_has_a_row_a_case_below_the_bars(run: Run) -> None:
    ran = run("calibrate", "--only", "decisions", "--quick")
    assert ran.status == 0
    bars, case = (next(line for line in ran.out.splitlines() if name in line) for name in ("bar", "30%"))
    assert bars.split()[1:4] == ["≤3", "≤3", "≤3.4"]
    label, figures = case.split("default")
    assert label.strip() == "30%, 1:1, day 10"
    assert len(figures.split()) == 13
    assert all(0 <= float(figure) <= 100 for figure in figures.split())
    assert "score test" not in ran.out


def test_all_cases_can_be_asked_for(run: Run) -> None:
    ran = run("calibrate", "--only", "decisions", "--runs", "100", "--all-cases")
    assert "5 secondary goals (30%, 1:1, day 10)" in ran.out
    assert "of discoveries are false" in ran.out


def test_figures_are_saved_with_their_bars(run: Run, tmp_path: Path) -> None:
    assert run("calibrate", "--only", "decisions", "--quick", "--out", tmp_path).status == 0
    with (tmp_path / "decisions.csv").open() as file:
        rows = {row["figure"]: row for row in csv.DictReader(file)}
    assert rows["ship"]["bar"] == "0.03"
    assert rows["power"]["is_least"] == "True"
    assert rows["sample used"]["bar"] == ""
    assert all(row["runs"] == "200" and row["is_met"] == "True" for row in rows.values())
    assert 0.7 < float(rows["power"]["value"]) < 0.95


def test_a_missed_bar_fails_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        daily_decisions, "is_look_at_plan", lambda day, count: day[:, None] <= list(range(count))
    )
    ran = run("calibrate", "--only", "decisions", "--quick")
    assert ran.status == 1
    assert "bars of decisions missed beyond chance: 30%, 1:1, day 10, default: ship by day 84" in " ".join(
        ran.err.split()
    )
