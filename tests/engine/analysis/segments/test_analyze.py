from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.analysis.results.segment_report import SegmentReport, SegmentVariant
from engine.analysis.segments import analyze
from engine.analysis.segments.analyze import analyze_segments
from engine.design.reweighting import reweight
from engine.errors import InvalidEvidenceError
from tests.builders import NOW, a_goal, an_experiment, variants_of
from tests.segment_counts import Tree, counts_of, of_visitors, segmented

PLANTED: Tree = {
    "device_type": {"mobile": ([9_000, 9_050], [900, 700]), "desktop": ([9_000, 8_950], [900, 1_100])},
    "os": {"iOS": ([4_000, 4_010], [400, 398]), "Android": ([5_000, 5_040], [502, 498])},
}


def the_variant(report: SegmentReport, dimension: str, value: str, goal: int = 0) -> SegmentVariant:
    (found,) = [
        variant
        for one in report.goals[goal].segments
        if (one.dimension, one.value) == (dimension, value)
        for variant in one.variants
    ]
    return found


def test_opposite_effects_are_found_named_and_told_in_words() -> None:
    report = analyze_segments(an_experiment(), segmented(PLANTED))
    mobile, desktop = (the_variant(report, "device_type", value) for value in ("mobile", "desktop"))
    assert (mobile.status, mobile.differs_from_rest) == ("worse", True)
    assert (desktop.status, desktop.differs_from_rest) == ("better", True)
    assert mobile.improvement == pytest.approx(700 / 9_050 / 0.1 - 1)
    assert mobile.rest_improvement == pytest.approx(desktop.improvement)
    assert mobile.chance_to_beat is not None
    assert mobile.chance_to_beat < 0.001
    summary = report.goals[0].summary
    assert summary.startswith("The effect on Purchase differs from the rest in 1 segment. In device type ")
    # Mobile has more visitors, and that desktop differs from it says nothing new.
    assert "'mobile', 'Treatment 1' changes it by \N{MINUS SIGN}22.7%, elsewhere by +22.9%" in summary
    assert "desktop" not in summary
    assert "confirm it in a test of its own" in summary
    assert "os" not in summary.split()


def test_an_effect_where_visitors_are_missing_is_not_announced() -> None:
    tree: Tree = {
        "browser": {"Safari": ([9_000, 6_000], [900, 900]), "Chrome": ([9_000, 9_000], [900, 905])},
        "os": {"iOS": ([5_000, 4_000], [500, 500]), "Android": ([13_000, 11_000], [1_300, 1_305])},
    }
    sound: Tree = {**PLANTED, "browser": {"Safari": ([9_000, 6_000], [900, 900])}}
    report = analyze_segments(an_experiment(), segmented(tree))
    assert the_variant(report, "browser", "Safari").differs_from_rest
    summary = report.goals[0].summary
    assert summary.startswith("Visitors in browser 'Safari'")
    assert "effects by browser" in summary
    assert "changes it by" not in summary
    # Other dimensions are announced as before.
    assert "In device type 'mobile'" in analyze_segments(an_experiment(), segmented(sound)).goals[0].summary


def test_segments_that_agree_are_said_to() -> None:
    agree: Tree = {"os": {"iOS": ([4_000, 4_000], [400, 440]), "Android": ([5_000, 5_000], [500, 552])}}
    report = analyze_segments(an_experiment(), segmented(agree))
    assert report.goals[0].summary.startswith("No segment differs significantly: ")
    assert {the_variant(report, "os", value).status for value in agree["os"]} == {"inconclusive"}


def test_only_some_of_many_that_differ_are_named_and_the_others_are_counted() -> None:
    values = {str(n): ([9_000 + n] * 2, [900, 900 + (-1) ** n * 250]) for n in range(8)}
    report = analyze_segments(an_experiment(), segmented({"country": values}))
    summary = report.goals[0].summary
    assert "differs from the rest in 8 segments" in summary
    assert [f"In country '{n}', " in summary for n in range(8)] == [False] * 5 + [True] * 3
    assert " And 5 more. This is exploratory" in summary


def test_an_effect_that_differs_without_being_one_says_so() -> None:
    # iOS loses what Android, which is most, gains; by itself iOS is no more than chance.
    tree: Tree = {"os": {"iOS": ([2_000, 2_000], [220, 200]), "Android": ([9_000, 9_000], [900, 1_170])}}
    found = the_variant(analyze_segments(an_experiment(), segmented(tree)), "os", "iOS")
    assert found.status == "differs"
    assert found.adjusted_p_value is not None
    assert found.adjusted_p_value > 0.05


def test_shrunk_effects_lie_between_their_own_and_the_others() -> None:
    found = the_variant(analyze_segments(an_experiment(), segmented(PLANTED)), "os", "iOS")
    assert found.improvement is not None
    assert found.shrunk_improvement is not None
    assert found.shrunk_interval is not None
    assert abs(found.shrunk_improvement) < 0.02
    assert found.shrunk_interval.level == 0.95


def test_simpsons_paradox_is_seen_through_and_its_cause_alarms() -> None:
    # The variant is better on each device and worse in all, as it got the device that converts less.
    tree: Tree = {
        "device_type": {"desktop": ([8_000, 2_000], [1_600, 460]), "mobile": ([2_000, 8_000], [100, 520])}
    }
    evidence = segmented(tree)
    whole = evidence.everyone
    rates = whole.conversions[0] / whole.visitors
    assert rates[1] < rates[0]
    report = analyze_segments(an_experiment(), evidence)
    assert {the_variant(report, "device_type", value).status for value in tree["device_type"]} == {"better"}
    assert [(one.dimension, one.value) for one in report.split_alarms] == [
        ("device_type", "desktop"),
        ("device_type", "mobile"),
    ]


def test_whoever_is_of_unknown_value_is_the_rest_of_a_lone_value() -> None:
    lone: Tree = {"custom:plan": {"pro": ([3_000, 3_000], [300, 420])}}
    alone = the_variant(analyze_segments(an_experiment(), segmented(lone)), "custom:plan", "pro")
    assert alone.status == "better"
    assert (alone.adjusted_p_value_vs_rest, alone.differs_from_rest) == (None, None)
    assert alone.reason == "all visitors are in this segment, so there is no rest to compare it with"
    others = segmented(lone, unknown=([3_000, 3_000], [300, 301]))
    known = the_variant(analyze_segments(an_experiment(), others), "custom:plan", "pro")
    assert known.differs_from_rest is True
    assert known.shrunk_improvement is None
    assert known.reason == "no other value of the dimension has enough data to estimate from"


def test_too_little_data_is_said_to_be_and_tells_what_was_seen() -> None:
    tree: Tree = {"os": {"iOS": ([90, 400], [9, 60]), "Android": ([4_000, 4_000], [400, 400])}}
    small = the_variant(analyze_segments(an_experiment(), segmented(tree)), "os", "iOS")
    assert small.status == "insufficient_data"
    assert small.improvement == pytest.approx(0.5)
    assert small.adjusted_p_value is None
    assert small.reason == "both variants require 100 visitors in this segment, and together 5 conversions"
    big = the_variant(analyze_segments(an_experiment(), segmented(tree)), "os", "Android")
    assert big.reason == "the rest has too few visitors to compare it with"


def test_nobody_nothing_and_no_control_are_answers() -> None:
    nobody: Tree = {"os": {"iOS": ([0, 0], [0, 0])}}
    report = analyze_segments(an_experiment(), segmented(nobody))
    assert the_variant(report, "os", "iOS").status == "insufficient_data"
    assert report.goals[0].summary.startswith("No segment has enough data yet")
    nothing = replace(segmented(nobody), segments=(), counts=counts_of(np.zeros((0, 2)), np.zeros((0, 1, 2))))
    report = analyze_segments(an_experiment(), nothing)
    assert (report.goals[0].segments, report.splits, report.comparisons) == ((), (), 0)
    assert report.goals[0].summary == "There are no segments yet."
    lone = segmented({"os": {"iOS": ([50], [5])}})
    report = analyze_segments(
        an_experiment(variants=(replace(variants_of((1,))[0], is_control=False),)), lone
    )
    assert report.goals[0].segments[0].control is None
    assert report.goals[0].segments[0].variants == ()
    empty = replace(
        lone, counts=counts_of([[5]], np.zeros((1, 0, 1))), everyone=counts_of([5], np.zeros((0, 1)))
    )
    assert analyze_segments(an_experiment(weights=(1,), goals=()), empty).goals == ()


def test_revenue_that_nobody_brings_has_reasons_and_no_numbers() -> None:
    goals = (a_goal(goal_type="revenue", config={}),)
    report = analyze_segments(an_experiment(goals=goals), segmented(PLANTED))
    found = the_variant(report, "os", "iOS")
    assert (found.improvement, found.shrunk_improvement, found.adjusted_p_value) == (None, None, None)
    assert found.reason == "no value varies within either variant, so no test is possible"


def test_a_goal_that_segments_judge_in_another_way_says_so() -> None:
    rng = np.random.default_rng(4)
    plans, arms = rng.choice(["a", "b"], 4_000), rng.integers(0, 2, 4_000)
    cents = np.where(rng.random(4_000) < 0.2, rng.lognormal(7, 1, 4_000).round(), 0.0)
    configs: tuple[dict[str, Any], ...] = ({}, {"per": "order", "cap_percentile": 99})
    summaries = [
        analyze_segments(
            an_experiment(goals=(a_goal(goal_type="revenue", config=config),)),
            of_visitors({"plan": plans}, arms, cents),
        )
        .goals[0]
        .summary
        for config in configs
    ]
    said = " By segment it is measured per visitor, not per order. By segment large amounts are not capped."
    assert summaries[1] == summaries[0] + said


def test_refunds_beyond_what_was_bought_leave_no_relative_change() -> None:
    rng = np.random.default_rng(1)
    plans, arms = rng.choice(["a", "b"], 2_000), rng.integers(0, 2, 2_000)
    cents = np.where(rng.random(2_000) < 0.2, -100.0 * rng.integers(1, 9, 2_000), 0.0)
    goals = (a_goal(goal_type="revenue", config={}),)
    report = analyze_segments(an_experiment(goals=goals), of_visitors({"plan": plans}, arms, cents))
    found = the_variant(report, "plan", "a")
    assert (found.improvement, found.shrunk_improvement) == (None, None)
    assert found.reason == "the control has nothing in this segment, so there is no relative change"


def test_control_and_challengers_carry_their_counts() -> None:
    report = analyze_segments(an_experiment(), segmented(PLANTED))
    mobile = report.goals[0].segments[0]
    assert mobile.control is not None
    assert (mobile.control.visitors, mobile.control.conversions) == (9_000, 900)
    assert (mobile.control.conversion_rate, mobile.control.revenue_per_visitor_cents) == (0.1, 0.0)
    assert mobile.variants[0].variant_id == "var_1"
    assert mobile.variants[0].visitors == 9_050


def test_a_goal_that_wants_less_is_better_where_it_falls() -> None:
    goals = (a_goal(config={"event_name": "refund", "direction": "decrease"}),)
    mobile = the_variant(
        analyze_segments(an_experiment(goals=goals), segmented(PLANTED)), "device_type", "mobile"
    )
    assert mobile.status == "better"
    assert mobile.chance_to_beat is not None
    assert mobile.chance_to_beat > 0.999


def test_narrowing_tells_less_and_changes_no_number() -> None:
    goals = (a_goal(), a_goal(id="goal_2", name="Sign-up", is_primary=False))
    tree: Tree = {
        dimension: {value: (n, [hits, hits]) for value, (n, hits) in values.items()}
        for dimension, values in PLANTED.items()
    }
    experiment = an_experiment(goals=goals)
    whole = analyze_segments(experiment, segmented(tree))
    part = analyze_segments(experiment, segmented(tree), goal_id="goal_2", dimension="os")
    assert [goal.goal.id for goal in part.goals] == ["goal_2"]
    assert part.goals[0].segments == whole.goals[1].segments[2:]
    assert part.goals[0].summary == whole.goals[1].summary
    assert part.splits == whole.splits[2:]
    assert (part.comparisons, part.split_alarms) == (whole.comparisons, whole.split_alarms)


def test_where_weights_move_splits_are_not_judged_and_effects_come_with_a_warning() -> None:
    bandit = an_experiment(traffic_strategy="bandit")
    moved = reweight(an_experiment(status="running"), (1, 3), now=NOW)
    for experiment in (bandit, moved):
        report = analyze_segments(experiment, segmented(PLANTED))
        assert (report.splits, report.split_alarms) == ((), ())
        assert report.comparisons == 4
        assert "Weights changed while visitors came in" in report.goals[0].summary


def test_three_variants_are_each_compared_with_the_control() -> None:
    tree: Tree = {"os": {"a": ([3_000] * 3, [300, 301, 420]), "b": ([3_000] * 3, [300, 302, 300])}}
    report = analyze_segments(an_experiment(weights=(1, 1, 1)), segmented(tree))
    statuses = [[one.status for one in row.variants] for row in report.goals[0].segments]
    assert statuses == [["inconclusive", "better"], ["inconclusive", "differs"]]
    assert "'Treatment 2' changes it by +40%" in report.goals[0].summary


def test_thousands_of_segments_are_judged_and_the_smallest_beyond_the_limit_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    n = rng.integers(1, 400, (3_000, 2))
    hits = rng.binomial(n, 0.1)
    tree: Tree = {"custom:page": {str(i): (n[i].tolist(), hits[i].tolist()) for i in range(3_000)}}
    report = analyze_segments(an_experiment(), segmented(tree))
    assert len(report.goals[0].segments) == 3_000
    # The planted splits differ from page to page, so that no effect by page is announced.
    assert "effects by page cannot be judged. No other segment differs" in report.goals[0].summary
    monkeypatch.setattr(analyze, "MOST_COMPARISONS", 100)
    few = analyze_segments(an_experiment(), segmented(tree))
    assert len(few.goals[0].segments) == 100
    assert few.left_out["smallest"].startswith("2,900 segments with the fewest visitors")


def test_huge_counts_stay_finite() -> None:
    n = 10**9
    tree: Tree = {"os": {"a": ([n, n], [n // 10, n // 10 + 10**6]), "b": ([n, n], [n // 10, n // 10])}}
    found = the_variant(analyze_segments(an_experiment(), segmented(tree)), "os", "a")
    assert found.status == "better"
    assert found.improvement == pytest.approx(0.01)
    assert found.shrunk_improvement == pytest.approx(0.01, rel=0.01)


def test_evidence_of_another_experiment_is_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="goals"):
        analyze_segments(an_experiment(weights=(1, 1, 1)), segmented(PLANTED))
