"""Command `plan`: sample sizes of the calculator, in a terminal."""

import pytest

import truelift
from tests.api.cli.conftest import Run


def test_visitors_for_an_effect_have_a_published_value(run: Run) -> None:
    # Fleiss, Levin and Paik (2003), table A.4 without continuity correction: 25% against 40%, 5%, 80%.
    named = ("plan", "--baseline-rate", "25", "--effect", "60")
    assert run(*named, "--json").json["visitors_per_variant"] == 152
    printed = run(*named).out
    assert [line.split()[-1] for line in printed.splitlines() if "per variant" in line] == ["152"]


def test_every_option_reaches_the_calculator(run: Run) -> None:
    ran = run(
        *(
            "plan",
            "--baseline-mean",
            "20",
            "--standard-deviation",
            "35",
            "--effect",
            "4",
            "--margin",
            "1",
            "--guardrails",
            "2",
        ),
        *("--daily-visitors", "900", "--confidence", "90", "--power", "90", "--variants", "3"),
        *("--method", "always_valid", "--looks", "9", "--correlation", "0.5", "--json"),
    )
    expected = truelift.sample_size(
        baseline_mean=20,
        standard_deviation=35,
        effect=4,
        margin=1,
        guardrails=2,
        daily_visitors=900,
        confidence_level=90,
        power=90,
        variants=3,
        method="always_valid",
        looks=9,
        correlation=0.5,
    )
    assert ran.json == expected.to_dict()
    waiting = ("--effect", "10", "--daily-visitors", "800", "--window", "14", "--json")
    assert run("plan", "--baseline-rate", "20", *waiting).json["days"] == 31
    one_sided = ("--visitors-per-variant", "5000", "--alternative", "one_sided", "--json")
    assert run("plan", "--baseline-rate", "4", *one_sided).json == (
        truelift.sample_size(baseline_rate=4, visitors_per_variant=5000, alternative="one_sided").to_dict()
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give either baseline_rate, or baseline_mean"),
        (("--baseline-rate", "4"), "give effect, or visitors_per_variant"),
        (("--baseline-rate", "nan", "--effect", "5"), "baseline_rate: "),
        (("--baseline-rate", "4", "--effect", "5", "--variants", "1"), "variants: "),
    ],
)
def test_what_cannot_be_planned_is_a_sentence(run: Run, options: tuple[str, ...], said: str) -> None:
    refused = run("plan", *options)
    assert (refused.status, refused.out) == (1, "")
    assert said in refused.err
    assert "Traceback" not in refused.err
