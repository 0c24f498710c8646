"""Table of measures: errors on each side beside their bars, saved, and a failure where one is broken."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from api.cli.measure_calibration import NO_STATUS
from engine.analysis.comparison import enough_data
from engine.calibration.decisions import daily_decisions, measure_cases
from engine.calibration.measure_errors import measure_cells
from engine.stats.skewness import PooledCumulants
from tests.api.cli.conftest import Run

NAMES = ("5.0%", "money per session, 3.0% return", "whole seconds")
# Few clicks: its plan is for a lift of 20%.
CASE = replace(
    next(one for one in measure_cases.MEASURE_CASES if one.name.startswith("ratio")), minimum_effect=0.2
)


@pytest.fixture(autouse=True)
def _few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command on few cells of few visitors; the one of ratios is below the minimum."""
    cells = [one for one in measure_cells.CELLS if one.shape.name in NAMES and one.arms == (1_800, 200)]
    assert [one.shape.name for one in cells] == list(NAMES)
    monkeypatch.setattr(measure_cells, "CELLS", tuple(cells))
    guarded = next(one for one in measure_cases.MEASURE_CASES if one.guardrail is not None)
    monkeypatch.setattr(measure_cases, "MEASURE_CASES", (CASE, guarded))


def test_tables_have_a_row_a_measure_and_a_case_with_their_bars(run: Run) -> None:
    ran = run("calibrate", "--only", "measures", "--quick")
    assert ran.status == 0
    lines = {line.split("  ")[0].strip(): line for line in ran.out.splitlines()}
    bars = [line.split() for line in ran.out.splitlines() if line.strip().startswith("bar ")]
    assert bars == [["bar", "≤", "3.5", "≤", "3.5", "≥", "94"], ["bar", "≤3", "≤3", "≥75", "≥79"]]
    assert NO_STATUS in lines["ratio"]
    for measure in ("converted", "median", "90% quantile"):
        assert "1,800 : 200" in lines[measure]
        assert lines[measure].count("±") == 3
    assert "200 runs each" in ran.out
    case = lines["ratio, clicks per view, 1:1, day 28"]
    assert case.split()[7] == "200"
    assert case.count("±") == 4
    # Those of wins beside guardrails differ by case.
    guarded = lines["converted, 5%, 1:1, day 28, 1 guardrail"]
    assert [guarded.count(bar) for bar in ("≥79", "≤17", "≤26", "±")] == [1, 1, 1, 3]


def test_json_and_csv_have_every_figure_with_its_error(run: Run, tmp_path: Path) -> None:
    printed = json.loads(run("calibrate", "--only", "measures", "--quick", "--json", "--out", tmp_path).out)
    assert printed["methods"] == []
    decisions = {(row["guardrails"], row["figure"]): row["bar"] for row in printed["decisions"]}
    assert decisions[0, "ship"] == decisions[0, "rollback"] == 0.03
    assert (decisions[0, "power"], decisions[1, "harm shipped"]) == (0.79, 0.17)
    with (tmp_path / "decisions.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(printed["decisions"])
    rows = {row["measure"]: row for row in printed["measures"]}
    assert list(rows) == ["converted", "ratio", "median", "90% quantile"]
    assert rows["ratio"]["with_status"] == 0
    assert rows["ratio"]["better"] is rows["ratio"]["coverage"] is None
    for measure in ("converted", "median", "90% quantile"):
        row = rows[measure]
        assert (row["runs"], row["better_bar"], row["coverage_bar"]) == (200, 0.035, 0.94)
        assert 0.85 < row["coverage"] <= 1
        assert 0 < row["coverage_error"] < 0.03
    with (tmp_path / "measures.csv").open() as file:
        saved = list(csv.DictReader(file))
    assert [(row["measure"], row["better"]) for row in saved] == [
        (name, "" if row["better"] is None else str(row["better"])) for name, row in rows.items()
    ]


def test_a_broken_bar_fails_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # Plain Welch calls the small arm a loser where few return money, which no minimum prevents any more.
    monkeypatch.setattr(enough_data, "MIN_PAYING_VISITORS", 0)
    monkeypatch.setattr(PooledCumulants, "skewness", lambda cumulants, *_: np.zeros(cumulants.third.shape))
    monkeypatch.setattr(measure_cases, "MEASURE_CASES", ())
    ran = run("calibrate", "--only", "measures", "--quick")
    assert ran.status == 1
    said = " ".join(ran.err.split())
    assert (
        "bars of measures missed beyond chance: ratio, money per session, 3.0% return, 1,800 : 200: worse"
        in said
    )


def test_a_look_too_many_at_the_plan_fails_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        daily_decisions, "is_look_at_plan", lambda day, count: day[:, None] <= list(range(count))
    )
    monkeypatch.setattr(measure_cells, "CELLS", ())
    monkeypatch.setattr(measure_cases, "MEASURE_CASES", (CASE,))
    ran = run("calibrate", "--only", "measures", "--quick")
    assert ran.status == 1
    said = " ".join(ran.err.split())
    assert "bars of decisions missed beyond chance: ratio, clicks per view, 1:1, day 28, default:" in said
