"""Command `analyze`: the verdict of a file."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

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
        }
    )
    path = tmp_path / "visitors.csv"
    frame.write_csv(path)
    return path


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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--covariate", "before"), "is not a goal with a value"),
        (("--cap", "spend=most"), "is not a percentile"),
        (("--cap", "spend=20"), "cap_percentile"),
        (("--orders", "spend=order"), "did you mean 'orders'"),
        (("--covariate", "sold=before"), "is no goal"),
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
