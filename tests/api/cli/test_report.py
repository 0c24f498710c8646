"""Command `report`: one file a format, with the numbers of the analysis."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import truelift
from tests.api.cli.conftest import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visitors.csv"
    pl.DataFrame(
        {
            "page": ["A"] * 2_000 + ["B"] * 2_000,
            "bought": [1] * 200 + [0] * 1_800 + [1] * 300 + [0] * 1_700,
        }
    ).write_csv(path)
    return path


def test_each_format_is_written_with_the_numbers_of_the_analysis(run: Run, file: Path) -> None:
    asked = ["report", str(file), "--variant", "page", "--control", "A", "--goal", "bought"]
    written = {}
    for format_ in ("html", "md", "json", "png"):
        to = file.with_name(f"report.{format_}")
        ran = run(*asked, "--format", format_, "--out", str(to), "--json")
        written[format_] = to.read_bytes()
        assert ran.json == {"file": str(to), "bytes": len(written[format_])}
    page = written["html"].decode()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert not re.search(r"<script|<link|\ssrc=", page)
    assert "| B | 2,000 | 300 | 15% | +50% |" in written["md"].decode()
    expected = truelift.analyze(
        pl.read_csv(file), variant="page", control="A", goals=["bought"], name="visitors"
    )
    assert json.loads(written["json"])["goals"] == expected.to_dict()["goals"]
    assert written["png"].startswith(b"\x89PNG")


def test_a_report_without_a_control_or_a_folder_is_a_sentence(run: Run, file: Path) -> None:
    asked = ["report", str(file), "--variant", "page", "--goal", "bought", "--out"]
    no_control = run(*asked, str(file.with_name("r.html")))
    assert no_control.status == 2
    assert "name the control variant" in no_control.err
    no_folder = run(*asked, str(file.parent / "none" / "r.html"), "--control", "A")
    assert no_folder.status == 1
    assert "No such file or directory" in no_folder.err
    assert not (file.parent / "none").exists()
