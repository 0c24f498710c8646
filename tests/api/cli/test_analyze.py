"""Command `analyze`: the verdict of a file."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import truelift
from api.cli.analysis.fail_on import FAILED_ON
from tests.api.cli.conftest import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    n = 6_000
    new, taste, orders = rng.random(n) < 0.5, rng.gamma(2, 20, n), rng.poisson(0.8, n)
    frame = pl.DataFrame(
        {
            "page": np.where(new, "B", "A"),
            "bought": (orders > 0).astype(int),
            "spend": (taste * orders * np.where(new, 1.15, 1.0)).round(2),
            "orders": orders,
            "before": taste.round(2),
            "country": np.where(np.arange(n) % 3 == 0, "DE", "US"),
        }
    )
    path = tmp_path / "visitors.csv"
    frame.write_csv(path)
    return path


def test_sums_have_the_verdict_of_their_rows(run: Run, file: Path, tmp_path: Path) -> None:
    spend = pl.col("spend")
    sums = (
        pl.read_csv(file)
        .group_by("page")
        .agg(
            pl.len().alias("visitors"),
            (spend > 0).sum(),
            spend.sum().alias("spend_sum"),
            (spend**2).sum().alias("spend_squares"),
            (spend**3).sum().alias("spend_cubes"),
        )
    )
    sums.write_csv(tmp_path / "sums.csv")
    asked = ["--variant", "page", "--control", "A", "--goal", "spend:revenue"]
    of_rows = run("analyze", file, *asked)
    of_sums = run("analyze", tmp_path / "sums.csv", *asked, "--sums")
    assert of_sums.status == of_rows.status == 0
    assert "Ship" in of_rows.out
    # The title is the name of the file.
    assert of_sums.out.splitlines()[2:] == of_rows.out.splitlines()[2:]


def test_a_test_that_assigned_clusters_has_the_report_of_the_frame(
    run: Run, file: Path, tmp_path: Path
) -> None:
    n = pl.int_range(pl.len())
    shops = pl.read_csv(file).with_columns(shop=pl.concat_str("page", n % 40))
    shops.write_csv(tmp_path / "shops.csv")
    asked = ["--variant", "page", "--control", "A", "--goal", "bought", "--cluster", "shop"]
    ran = run("analyze", tmp_path / "shops.csv", *asked, "--json")
    report = truelift.analyze(shops, control="A", goals=["bought"], variant="page", cluster="shop")
    assert json.loads(ran.out)["goals"] == json.loads(json.dumps(report.to_dict()["goals"]))
    assert report.goals[0].variants[0].clusters == 40
    page = tmp_path / "report.json"
    run("report", tmp_path / "shops.csv", *asked, "--format", "json", "--out", page)
    found = json.loads(page.read_text())["goals"][0]["variants"][0]
    assert found["clusters"] == 40


def test_verdict_is_printed_and_nothing_is_stored(run: Run, file: Path) -> None:
    ran = run(
        "analyze", file, "--variant", "page", "--control", "A", "--goal", "spend:revenue", "--goal", "bought"
    )
    assert ran.status == 0
    assert "spend" in ran.out
    assert "bought" in ran.out
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--covariate", "spend=before"), "pre-period activity"),
        (("--orders", "spend=orders"), "per order"),
        (("--cap", "spend=95"), "capped at"),
    ],
)
def test_what_is_said_of_a_goal_changes_its_verdict(
    run: Run, file: Path, option: tuple[str, str], said: str
) -> None:
    named = ("--variant", "page", "--control", "A", "--goal", "spend:revenue")
    plain, adjusted = run("analyze", file, *named), run("analyze", file, *named, *option)
    assert (plain.status, adjusted.status) == (0, 0)
    words = " ".join(adjusted.out.split())
    assert said in words
    assert said not in " ".join(plain.out.split())


def test_rows_that_are_adjusted_have_a_star_that_is_explained(run: Run, file: Path) -> None:
    named = (
        "analyze",
        file,
        "--variant",
        "page",
        "--control",
        "A",
        "--goal",
        "spend:revenue",
        "--goal",
        "bought",
    )
    plain, adjusted = run(*named), run(*named, "--covariate", "spend=before")
    assert "*" not in plain.out
    starred = [line for line in adjusted.out.splitlines() if "*" in line]
    assert [line.split()[:2] for line in starred] == [["B", "*"], ["*", "change,"]]
    assert "adjusted by the covariates" in starred[1]


def test_a_goal_to_be_lowered_is_judged_so(run: Run, file: Path) -> None:
    named = ("analyze", file, "--variant", "page", "--control", "A", "--goal", "spend:revenue")
    higher, lower = run(*named), run(*named, "--less-is-better", "spend")
    assert ("Better" in higher.out, "Worse" in lower.out) == (True, True)
    assert "--less-is-better names no goal: 'spent'" in run(*named, "--less-is-better", "spent").err


def test_a_mean_is_headed_as_one(run: Run, file: Path) -> None:
    named = ("analyze", file, "--variant", "page", "--control", "A")
    printed = run(*named, "--goal", "before:mean", "--goal", "spend:value").out
    assert "before (mean)" in printed
    assert "spend (value)" in printed
    headings = [line.split() for line in printed.splitlines() if "visitors" in line and "conv." in line]
    assert ["mean" in heading for heading in headings] == [True, False]


def test_a_table_with_lost_rows_gets_no_advice_about_pages(run: Run, tmp_path: Path) -> None:
    rows = pl.DataFrame({"page": ["A"] * 3000 + ["B"] * 2000, "bought": [0, 1] * 2500})
    rows.write_csv(tmp_path / "f.csv")
    ran = run("analyze", tmp_path / "f.csv", "--variant", "page", "--control", "A", "--goal", "bought")
    words = " ".join(ran.out.replace("│", " ").split())
    assert "Sample ratio mismatch" in words
    assert "rows lost by a join" in words
    assert "scripts" not in words


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--covariate", "before"), "is not a goal with a value"),
        (("--cap", "spend=most"), "is not a percentile"),
        (("--cap", "spend=20"), "cap_percentile"),
        (("--guardrail", "spend=2"), "is the primary goal"),
        (("--guardrail", "spend=little"), "is not a margin in percent"),
        (("--segment", "planet"), "planet"),
        (("--segment", "country", "--cap", "spend=99"), "segments take no --covariate"),
        (("--segment", "country", "--cluster", "shop"), "segments take no --covariate"),
        (("--fail-on", "fix_data,loser"), "'loser' is no recommendation"),
        (("--fail-on", ""), "is no recommendation"),
        (("--orders", "spend=order"), "did you mean 'orders'"),
        (("--covariate", "sold=before"), "--covariate names no goal: 'sold'"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(
    run: Run, file: Path, options: tuple[str, str], said: str
) -> None:
    ran = run("analyze", file, "--variant", "page", "--control", "A", "--goal", "spend:revenue", *options)
    assert ran.status in {1, 2}
    assert said in " ".join((ran.err + ran.out).replace("│", " ").split())
    assert "Traceback" not in ran.err


def test_a_one_sided_test_halves_the_p_of_a_gain(run: Run, tmp_path: Path) -> None:
    # Two-sided p is 0.0672 by statsmodels' proportions_ztest of 1079 and 1000 of 10,000.
    bought = [1] * 1000 + [0] * 9000 + [1] * 1079 + [0] * 8921
    pl.DataFrame({"page": ["A"] * 10_000 + ["B"] * 10_000, "bought": bought}).write_csv(tmp_path / "f.csv")
    named = ("analyze", tmp_path / "f.csv", "--variant", "page", "--control", "A", "--goal", "bought")
    plain, one_sided = run(*named), run(*named, "--alternative", "one_sided")
    assert "0.0672" in plain.out
    assert "0.0336" in one_sided.out
    refused = run(*named, "--alternative", "one_sided", "--method", "bayesian")
    assert refused.status != 0


def test_json_is_the_report_and_its_segments(run: Run, file: Path) -> None:
    named = ("analyze", file, "--variant", "page", "--control", "A", "--goal", "bought", "--json")
    plain, split = run(*named).json, run(*named, "--segment", "country").json
    assert plain["segments"] is None
    (goal,) = split.pop("segments")["goals"]
    assert {one["value"] for one in goal["segments"]} == {"DE", "US"}
    assert split == {name: value for name, value in plain.items() if name != "segments"}


def test_segments_are_printed_after_the_verdict(run: Run, file: Path) -> None:
    ran = run(
        *("analyze", file, "--variant", "page", "--control", "A", "--goal", "bought"),
        *("--segment", "country"),
    )
    assert ran.status == 0
    assert ran.out.index("Exploratory") < ran.out.index("country: DE")
    assert "country: US" in ran.out


def test_a_recommendation_to_fail_on_sets_the_exit_status(run: Run, file: Path) -> None:
    named = ("analyze", file, "--variant", "page", "--control", "A", "--goal", "spend:revenue")
    shipped, other = run(*named, "--fail-on", "rollback, ship"), run(*named, "--fail-on", "fix_data,rollback")
    assert (shipped.status, other.status) == (FAILED_ON, 0)
    assert shipped.out == other.out


def test_a_guardrail_may_have_to_be_shown_non_inferior(run: Run, tmp_path: Path) -> None:
    """500 of 1,000 return with both pages: no harm is shown, and none is excluded."""
    rows = [
        (page, int(number < buyers), number % 2)
        for page, buyers in (("A", 100), ("B", 200))
        for number in range(1_000)
    ]
    pl.DataFrame(rows, schema=["page", "bought", "returned"], orient="row").write_csv(tmp_path / "f.csv")
    columns = (tmp_path / "f.csv", "--variant", "page", "--control", "A", "--goal", "bought")
    guarded = (*columns, "--goal", "returned", "--guardrail", "returned=2")
    asked = (*guarded, "--guardrail-rule", "non_inferior")
    usual, shown = (run("analyze", *one, "--json").json for one in (guarded, asked))
    assert usual["goals"][0]["decision"]["recommendation"] == "ship"
    decision = shown["goals"][0]["decision"]
    assert (decision["recommendation"], decision["reason"]) == ("review", "guardrail_inconclusive")
    ran = run("report", *asked, "--format", "json", "--out", tmp_path / "r.json")
    assert ran.status == 0
    assert json.loads((tmp_path / "r.json").read_text())["goals"] == shown["goals"]
    alone = run("analyze", *columns, "--guardrail-rule", "non_inferior")
    assert alone.status == 2
    assert "such as --guardrail returns=2" in alone.err


def test_a_broken_guardrail_decides(run: Run, tmp_path: Path) -> None:
    rows = [
        (page, int(number < buyers), int(number < returning))
        for page, buyers, returning in (("A", 1_000, 5_000), ("B", 1_300, 4_000))
        for number in range(10_000)
    ]
    pl.DataFrame(rows, schema=["page", "bought", "returned"], orient="row").write_csv(tmp_path / "f.csv")
    named = ("analyze", tmp_path / "f.csv", "--variant", "page", "--control", "A", "--goal", "bought")
    guarded = run(*named, "--goal", "returned", "--guardrail", "returned=2", "--json").json
    assert guarded["goals"][0]["decision"]["reason"] == "guardrail_broken"
