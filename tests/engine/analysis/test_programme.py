import math
from dataclasses import replace
from typing import Any

import pytest

from engine.analysis.evidence.recorded_looks import RecordedComparison, RecordedLook, RecordedPlan
from engine.analysis.programme import programme_of
from engine.design.conclusion import Conclusion
from engine.design.experiment import Experiment
from tests.builders import NOW, a_goal, an_experiment

N = 10_000
PLAN = RecordedPlan(
    source="given",
    required_visitors=2 * N,
    tuned_to=None,
    mean=None,
    variance=None,
    minimum_effect=0.1,
    detectable_effect=None,
    equivalence_margins={},
    alpha=0.05,
    variants=2,
)


def a_share(conversions: int) -> RecordedComparison:
    share = conversions / N
    return RecordedComparison(n=N, mean=share, m2=N * share * (1 - share), m3=0.0)


def ended(
    number: int, control: int, variant: int, recommendation: str, **goal: Any
) -> tuple[Experiment, RecordedLook]:
    """A test that ended with so many conversions of 10,000 visitors each."""
    experiment = an_experiment(
        id=f"exp_{number}", test_key=f"test-{number}", status="completed", goals=(a_goal(**goal),)
    )
    look = RecordedLook(
        taken_at=NOW,
        is_at_plan=True,
        running_days=14.0,
        visitors=2 * N,
        plan=PLAN,
        comparisons={"goal_1": {"var_0": a_share(control), "var_1": a_share(variant)}},
        recommendation=recommendation,
        variant_id="var_1" if recommendation == "ship" else None,
    )
    return experiment, look


def test_a_project_without_tests_has_no_numbers() -> None:
    found = programme_of([(an_experiment(status="completed"), None)])
    assert (found.ended, found.decided, found.win_rate, found.metrics) == (1, 0, None, ())
    assert programme_of([]).ended == 0


def test_what_was_decided_is_counted_and_never_guessed() -> None:
    won, look = ended(1, 1000, 1150, "ship")
    decided: dict[str, Any] = {"note": "So.", "decided_at": NOW, "decided_by": "m", "decided_by_name": "Ada"}
    shipped = Conclusion(decision="ship", variant_id="var_1", **decided)
    kept = Conclusion(decision="keep_control", **decided)
    tests = [(replace(won, conclusion=one), look) for one in (shipped, kept, None)]
    found = programme_of(tests)
    assert found.conclusions == {"keep_control": 1, "ship": 1}
    assert [one.is_shipped for one in found.metrics[0].lifts] == [True, False, None]
    assert all(one.is_winner for one in found.metrics[0].lifts)


def test_one_test_stays_as_it_was_observed() -> None:
    (metric,) = programme_of([ended(1, 1000, 1100, "ship")]).metrics
    assert metric.lifts[0].observed_lift == pytest.approx(0.1)
    assert metric.lifts[0].shrunk_lift is None
    assert metric.typical_lift is None
    assert metric.winners is not None
    assert metric.winners.lift == pytest.approx(0.1)
    # The interval of a ratio of shares by the delta method: Katz et al. (1978), Biometrics 34.
    error = math.sqrt(1 / 1000 - 1 / N + 1 / 1100 - 1 / N)
    assert metric.winners.low == pytest.approx(1.1 * math.exp(-1.959964 * error) - 1, abs=2e-5)


def test_two_tests_and_more_are_shrunk_towards_each_other() -> None:
    tests = [ended(1, 1000, 1150, "ship"), ended(2, 1000, 1000, "review")]
    found = programme_of(tests)
    winner, other = found.metrics[0].lifts
    assert other.shrunk_lift is not None
    assert winner.shrunk_lift is not None
    assert 0 < other.shrunk_lift < winner.shrunk_lift < 0.15
    assert (found.decided, found.win_rate, dict(found.decisions)) == (2, 0.5, {"review": 1, "ship": 1})
    assert found.metrics[0].winners is not None
    assert found.metrics[0].winners.lift == pytest.approx(winner.shrunk_lift)


def test_equal_lifts_keep_their_value_with_a_smaller_error() -> None:
    alone = programme_of([ended(1, 1000, 1100, "ship")]).metrics[0].winners
    (metric,) = programme_of([ended(number, 1000, 1100, "ship") for number in range(10)]).metrics
    assert [lift.shrunk_lift for lift in metric.lifts] == pytest.approx([0.1] * 10)
    assert alone is not None
    assert metric.lifts[0].low is not None
    assert alone.low < metric.lifts[0].low < 0.1
    assert metric.winners is not None
    assert metric.winners.lift == pytest.approx(1.1**10 - 1)


def test_lifts_of_a_metric_are_a_family_and_a_wanted_decrease_is_a_gain() -> None:
    tests = [
        ended(1, 1000, 900, "ship", config={"event_name": "refund", "direction": "decrease"}),
        ended(2, 1000, 1100, "rollback", goal_type="revenue", config={"event_name": "purchase"}),
        ended(3, 0, 1100, "review"),
    ]
    by_metric = {one.metric: one.lifts for one in programme_of(tests).metrics}
    assert by_metric["conversion_rate"][0].observed_lift == pytest.approx(1000 / 900 - 1)
    assert {metric: len(lifts) for metric, lifts in by_metric.items()} == {
        "conversion_rate": 1,
        "revenue_per_visitor": 1,
    }


def test_funnels_and_retention_are_families_of_their_own() -> None:
    configs = {
        "funnel": {"event_name": "paid", "measure": "funnel", "steps": [{"event_name": "cart"}]},
        "retained": {"event_name": "visit", "measure": "retained", "from_day": 7},
        "conversion_rate": {"event_name": "purchase"},
        "mean": {"event_name": "visit", "measure": "count"},
    }
    tests = [ended(place, 1000, 1100, "ship", config=config) for place, config in enumerate(configs.values())]
    found = {one.metric: len(one.lifts) for one in programme_of(tests).metrics}
    assert found == dict.fromkeys(configs, 1)
