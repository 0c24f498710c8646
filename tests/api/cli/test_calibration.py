"""Command `calibrate`: a table, saved figures, and a failure where a method breaks its promise."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.calibration import error_rates, methods
from engine.calibration.decisions import standard_cases
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.trials import Setting
from tests.api.cli.conftest import Run


@pytest.fixture(autouse=True)
def _one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command on one setting and one case; tests of the engine run all of them."""
    monkeypatch.setattr(error_rates, "DEFAULT_SETTINGS", (Setting(rate=0.2, visitors=280),))
    monkeypatch.setattr(standard_cases, "DEFAULT_CASES", (DecisionCase(rate=0.3, plan_day=10.0),))


def test_a_table_names_every_method_that_fits(run: Run) -> None:
    ran = run("calibrate", "--quick")
    assert ran.status == 0
    for name in ("score test or Fisher", "Bayesian", "always valid", "group sequential"):
        assert name in ran.out
    assert "200 runs each" in ran.out
    assert "30%, 1:1, day 10" in ran.out


def test_json_has_every_figure_and_nothing_else_is_printed(run: Run) -> None:
    printed = json.loads(run("calibrate", "--quick", "--json").out)
    assert {row["method"] for row in printed["methods"]} >= {"score test or Fisher", "Bayesian"}
    assert {row["runs"] for row in printed["methods"]} == {200}
    assert all(0 <= row["false_positives"] <= 1 for row in printed["methods"])
    ship = [row for row in printed["decisions"] if row["figure"] == "ship"]
    assert ship
    assert all(0 <= row["value"] <= 1 and row["bar"] is not None for row in ship)
    only = json.loads(run("calibrate", "--quick", "--json", "--only", "decisions").out)
    assert (only["methods"], only["decisions"]) == ([], printed["decisions"])
    assert run("calibrate", "--quick", "--only", "measures", "--all-cases").status == 2


def test_figures_and_chart_are_saved(run: Run, tmp_path: Path) -> None:
    assert run("calibrate", "--quick", "--only", "methods", "--out", tmp_path / "new").status == 0
    with (tmp_path / "new" / "calibration.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert {row["runs"] for row in rows} == {"200"}
    assert all(0 <= float(row["false_positives"]) <= 1 for row in rows)
    assert "vegaEmbed" in (tmp_path / "new" / "calibration.html").read_text()


def test_a_folder_that_cannot_be_is_an_error_before_the_simulation(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(error_rates, "calibrate")
    (tmp_path / "file").touch()
    ran = run("calibrate", "--quick", "--only", "methods", "--out", tmp_path / "file" / "figures")
    assert ran.status == 1
    assert "figures cannot be written: Not a directory" in " ".join(ran.err.split())


def test_figures_on_a_full_disk_are_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "calibration.csv").symlink_to("/dev/full")
    ran = run("calibrate", "--quick", "--only", "methods", "--out", tmp_path)
    assert ran.status == 1
    assert "calibration.csv cannot be written: No space left on device" in " ".join(ran.err.split())


def test_a_method_that_breaks_its_promise_fails_the_command(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (peeking,) = (method for method in methods.DAILY if not method.is_safe)
    broken = replace(peeking, name="peeking, sold as safe", is_safe=True)
    monkeypatch.setattr(methods, "METHODS", (broken,))
    ran = run("calibrate", "--quick", "--only", "methods")
    assert ran.status == 1
    assert "more false positives than promised" in ran.err
    assert "peeking, sold as safe" in ran.err
