"""An effect that wears off is found, one that lasts is not taken for it."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.health.check_result import CheckResult
from engine.analysis.health.novelty import MIN_CONVERSIONS, NOVELTY_ALPHA, novelty
from tests.builders import a_goal, an_experiment
from tests.examples import trials
from tests.observations import check_input, health_of, observed

DAYS = 14
FADING = 0.8 * np.exp(-np.arange(DAYS) / 3)


def followed(effects: npt.ArrayLike, seed: int, *, visitors: int = 20_000, rate: float = 0.01) -> FollowUp:
    """Visitors of a control and of variants with these log odds ratios by day, days by variants."""
    rng = np.random.default_rng(seed)
    ratios = np.asarray(effects, np.float64).reshape(DAYS, -1)
    odds = rate * np.exp(np.column_stack([np.zeros(DAYS), ratios]))
    left = np.full(odds.shape[1], visitors)
    at_risk, hits = [], []
    for day in range(DAYS):
        at_risk.append(left)
        hits.append(rng.binomial(left, odds[day] / (1 + odds[day])))
        left = left - hits[-1]
    return FollowUp(at_risk=np.array(at_risk), conversions=np.array(hits))


def found(follow_up: FollowUp | None, **fields: Any) -> CheckResult:
    arms = 2 if follow_up is None else follow_up.at_risk.shape[1]
    evidence = observed([20_000] * arms, [500] * arms, follow_up=follow_up)
    experiment = an_experiment(**{"status": "running", "weights": (1,) * arms, **fields})
    return novelty(check_input(experiment, evidence))


def test_an_effect_that_wears_off_is_a_warning_that_says_how_it_was_and_is() -> None:
    finding = found(followed(FADING, seed=1))
    assert finding.status == "warning"
    told: Any = finding.details["variants"]
    treatment = told["Treatment 1"]
    # The truth: odds times e^0.8 on the first day, and hardly changed on the last.
    assert treatment["first_day"] == pytest.approx(np.expm1(0.8), abs=0.25)
    assert treatment["last_day"] == pytest.approx(0, abs=0.15)
    assert (treatment["fades"], treatment["grows"]) == (True, False)
    assert treatment["p_value"] < NOVELTY_ALPHA
    first, last = (
        f"{100 * treatment[day]:+.1f}%".replace("-", "\N{MINUS SIGN}") for day in ("first_day", "last_day")
    )
    assert f"about {first} on the day of first exposure" in finding.message
    assert f"by {last} 13 days later" in finding.message


def test_details_are_the_effect_by_day_as_json_has_it() -> None:
    follow_up = followed(FADING, seed=2)
    finding = found(follow_up)
    told: Any = json.loads(json.dumps(dict(finding.details), allow_nan=False))
    days = told["variants"]["Treatment 1"]["by_day"]
    assert [day["day"] for day in days] == list(range(DAYS))
    assert [[day["control_visitors"], day["visitors"]] for day in days] == follow_up.at_risk.tolist()
    assert [
        [day["control_conversions"], day["conversions"]] for day in days
    ] == follow_up.conversions.tolist()
    assert all(day["low"] < day["lift"] < day["high"] for day in days)
    # The intervals hold the truth of nearly every day.
    held = [day["low"] < np.expm1(effect) < day["high"] for day, effect in zip(days, FADING, strict=True)]
    assert sum(held) >= DAYS - 2


@pytest.mark.many(seconds=9)
@pytest.mark.parametrize("arms", [3, pytest.param(1, marks=pytest.mark.long(seconds=9))])
def test_a_lasting_effect_is_called_fading_as_rarely_as_promised(arms: int) -> None:
    # A third of the visitors of the other tests, so that the normal approximation is put to the test, too.
    runs = trials(300, 1_500)
    effects = np.full((DAYS, arms), 0.3)
    findings = [found(followed(effects, seed=seed, visitors=6_000)) for seed in range(runs)]
    told: list[Any] = [finding.details["variants"] for finding in findings]
    called = [any(one["fades"] or one["grows"] for one in variants.values()) for variants in told]
    # Two-sided and for all variants together at most NOVELTY_ALPHA; four standard errors above it.
    assert np.mean(called) <= NOVELTY_ALPHA + 4 * np.sqrt(NOVELTY_ALPHA / runs)
    fades = sum(any(one["fades"] for one in variants.values()) for variants in told)
    assert sum(finding.status == "warning" for finding in findings) == fades


def test_an_effect_that_builds_up_is_told_and_is_no_warning() -> None:
    finding = found(followed(np.linspace(0.05, 0.6, DAYS), seed=5))
    assert finding.status == "ok"
    assert "The effect grows" in finding.message


def test_an_aversion_that_wears_off_fades_as_well() -> None:
    finding = found(followed(-FADING, seed=6))
    assert finding.status == "warning"
    assert "\N{MINUS SIGN}" in finding.message


def test_only_the_variant_that_fades_is_named() -> None:
    finding = found(followed(np.column_stack([np.full(DAYS, 0.2), FADING]), seed=7))
    assert finding.status == "warning"
    assert "'Treatment 2'" in finding.message
    assert "'Treatment 1'" not in finding.message


def test_no_effect_at_all_is_fine() -> None:
    assert found(followed(np.zeros(DAYS), seed=8)).status == "ok"


@pytest.mark.parametrize(
    ("follow_up", "fields"),
    [
        (None, {}),
        (FollowUp(at_risk=np.zeros((0, 2), np.int64), conversions=np.zeros((0, 2), np.int64)), {}),
        (FollowUp(at_risk=np.full((2, 2), 9_000), conversions=np.full((2, 2), 400)), {}),
        (FollowUp(at_risk=np.full((9, 2), 9_000), conversions=np.full((9, 2), 2)), {}),
        (followed(FADING, seed=9), {"goals": (a_goal(goal_type="revenue"),)}),
        (followed(FADING, seed=9), {"goals": (), "status": "draft"}),
        (followed(FADING, seed=9), {"traffic_strategy": "bandit"}),
    ],
    ids=["not known", "nobody", "two days", "too few conversions", "revenue", "no goal", "bandit"],
)
def test_where_nothing_can_be_said_nothing_is(follow_up: FollowUp | None, fields: dict[str, Any]) -> None:
    finding = found(follow_up, **fields)
    assert finding.status == "not_applicable"
    assert finding.details == {}


def test_a_variant_with_too_few_conversions_is_left_out() -> None:
    follow_up = followed(np.column_stack([FADING, FADING]), seed=10)
    few = follow_up.conversions.copy()
    few[:, 2] = 0
    few[0, 2] = MIN_CONVERSIONS - 1
    finding = found(FollowUp(at_risk=follow_up.at_risk, conversions=few))
    told: Any = finding.details["variants"]
    assert list(told) == ["Treatment 1"]


def test_everybody_converting_says_nothing_and_breaks_nothing() -> None:
    everyone = FollowUp(at_risk=np.full((4, 2), 100), conversions=np.full((4, 2), 100))
    finding = found(everyone)
    json.dumps(dict(finding.details), allow_nan=False)
    assert finding.status == "ok"


def test_it_is_one_of_the_checks() -> None:
    evidence = observed([20_000] * 2, [500] * 2, follow_up=followed(FADING, seed=1))
    assert health_of(an_experiment(status="running"), evidence)["novelty"].status == "warning"
