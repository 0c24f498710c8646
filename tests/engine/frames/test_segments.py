from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from engine.analysis.results.segment_report import SegmentReport
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Revenue
from engine.frames.segments import analyze_frame_segments
from tests.engine.frames.same_reports import differences


def drawn(visitors: int = 8_000) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    device, arm = rng.choice(["mobile", "desktop"], visitors), rng.choice(["old", "new"], visitors)
    lift = np.where((arm == "new") & (device == "mobile"), 1.6, 1.0)
    bought = rng.random(visitors) < 0.1 * lift
    return pl.DataFrame(
        {
            "variant": arm,
            "device": device,
            "plan": np.array(["pro", "free", None])[rng.integers(0, 3, visitors)],
            "bought": bought.astype(int),
            "spent": np.where(bought, rng.lognormal(3, 1, visitors).round(2), 0.0),
        }
    )


def values_of(report: SegmentReport) -> list[tuple[str, str]]:
    return [(one.dimension, one.value) for one in report.goals[0].segments]


def test_counts_are_those_of_polars() -> None:
    frame = drawn()
    report = analyze_frame_segments(
        frame, segments=["plan"], control="old", goals={"bought": "custom_event", "spent": "revenue"}
    )
    assert values_of(report) == [("plan", "free"), ("plan", "pro")]
    for goal, name in zip(report.goals, ("bought", "spent"), strict=True):
        for one in goal.segments:
            for arm in (one.control, *one.variants):
                assert arm is not None
                own = frame.filter(plan=one.value, variant=arm.variant_name)
                assert arm.visitors == own.height
                assert arm.conversions == (own[name] > 0).sum()
                if name == "spent":
                    assert arm.revenue_cents == round(100 * own["spent"].sum())


def test_a_segment_by_itself_is_the_frame_of_its_visitors() -> None:
    frame = drawn()
    report = analyze_frame_segments(frame, segments=["device"], control="old", goals={"spent": "revenue"})
    assert len(report.goals[0].segments) == frame["device"].n_unique()
    for one in report.goals[0].segments:
        alone = (
            analyze_frame(frame.filter(device=one.value), control="old", goals={"spent": "revenue"})
            .goals[0]
            .variants[1]
        )
        assert one.variants[0].improvement == pytest.approx(alone.improvement)
        assert one.variants[0].revenue_per_visitor_cents == pytest.approx(alone.revenue.value)


def test_the_planted_difference_is_told_in_words() -> None:
    report = analyze_frame_segments(drawn(), segments=["device", "plan"], control="old", goals=["bought"])
    assert "differs from the rest in 1 segment. In device '" in report.goals[0].summary
    assert "plan" not in report.goals[0].summary


def test_visitors_are_in_the_segments_of_their_earliest_row() -> None:
    frame = pl.DataFrame(
        {
            "visitor": ["a", "a", "b", "b", "c"],
            "at": ["2026-03-02", "2026-03-01", "2026-03-01", "2026-03-01", "2026-03-01"],
            "variant": ["old", "old", "new", "new", "new"],
            "device": ["mobile", "desktop", "tablet", "mobile", None],
            "bought": [0, 1, 0, 0, 1],
        }
    )
    by_time = analyze_frame_segments(
        frame, segments=["device"], control="old", goals=["bought"], visitor="visitor", timestamp="at"
    )
    assert values_of(by_time) == [("device", "desktop"), ("device", "tablet")]
    by_row = analyze_frame_segments(
        frame, segments=["device"], control="old", goals=["bought"], visitor="visitor"
    )
    assert values_of(by_row) == [("device", "mobile"), ("device", "tablet")]


def test_numbers_and_flags_are_values_like_words() -> None:
    frame = drawn(400).with_columns(
        tier=pl.Series(np.arange(400) % 3), is_vip=pl.Series(np.arange(400) % 2 == 0)
    )
    report = analyze_frame_segments(
        frame, segments=["tier", "is_vip", "tier"], control="old", goals=["bought"]
    )
    assert values_of(report) == [
        ("is_vip", "false"),
        ("is_vip", "true"),
        ("tier", "0"),
        ("tier", "1"),
        ("tier", "2"),
    ]
    floats = pd.DataFrame({"variant": ["old", "new"], "tier": [1.5, np.nan], "bought": [1, 0]})
    assert values_of(analyze_frame_segments(floats, segments=["tier"], control="old", goals=["bought"])) == [
        ("tier", "1.5")
    ]


def test_a_column_that_says_nothing_has_no_segments() -> None:
    frame = drawn(400).with_columns(nothing=pl.lit(None, pl.String))
    blank = drawn(400).with_columns(nothing=pl.lit(""))
    for one in (frame, blank):
        assert (
            values_of(analyze_frame_segments(one, segments=["nothing"], control="old", goals=["bought"]))
            == []
        )


def test_weights_that_moved_are_no_fault_of_the_split() -> None:
    frame = drawn(4_000)
    frame = frame.filter((pl.col("variant") == "old") | (pl.int_range(pl.len()) % 3 == 0))
    since = datetime(2026, 3, 1, tzinfo=UTC)
    epochs = [(since, {"old": 1, "new": 1}), (since + timedelta(days=3), {"old": 9, "new": 1})]

    def alarms(**more: Any) -> int:
        report = analyze_frame_segments(frame, segments=["device"], control="old", goals=["bought"], **more)
        return len(report.split_alarms)

    assert alarms() == 2
    assert alarms(weights={"old": 3, "new": 1}) == 0
    assert alarms(weight_epochs=epochs) == alarms(traffic_strategy="bandit") == 0


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(InvalidEvidenceError, match="did you mean 'device'"):
        analyze_frame_segments(drawn(10), segments=["devise"], control="old", goals=["bought"])
    with pytest.raises(InvalidEvidenceError, match="at least one column as a segment"):
        analyze_frame_segments(drawn(10), segments=[], control="old", goals=["bought"])


def test_counts_and_values_are_compared_as_amounts_are() -> None:
    frame = drawn().with_columns(items=(pl.col("spent") * 100).round().cast(pl.Int64))
    goals: dict[str, Any] = {"spent": "revenue", "items": "count"}
    report = analyze_frame_segments(frame, segments=["device"], control="old", goals=goals)
    cents, items = report.goals
    assert len(cents.segments) == frame["device"].n_unique()
    for found, of_items in zip(cents.segments, items.segments, strict=True):
        (spent,), (counted,) = found.variants, of_items.variants
        for name in ("improvement", "rest_improvement", "shrunk_improvement", "adjusted_p_value"):
            assert getattr(counted, name) == pytest.approx(getattr(spent, name), rel=1e-9), name
        assert counted.status == spent.status
        assert counted.mean == pytest.approx(spent.revenue_per_visitor_cents, rel=1e-12)
        assert (spent.mean, counted.revenue_cents) == (None, 0)


def test_few_values_say_how_many_are_required() -> None:
    frame = drawn(300).with_columns(items=(pl.int_range(pl.len()) < 20).cast(pl.Int64))
    report = analyze_frame_segments(frame, segments=["device"], control="old", goals={"items": "value"})
    found = report.goals[0].segments[0]
    assert "30 visitors with a value other than 0" in (found.variants[0].reason or "")


@pytest.mark.parametrize("kind", ["mean", "retained"])
def test_goals_that_not_every_visitor_has_are_refused(kind: str) -> None:
    goals: dict[str, Any] = {"bought": kind}
    with pytest.raises(InvalidEvidenceError, match=r"only goals of Converted, .* Ratio, Quantile: leave out"):
        analyze_frame_segments(drawn(200), segments=["plan"], control="old", goals=goals)


@pytest.mark.parametrize("goal", [Revenue(covariates="spent"), Revenue(cap_percentile=99)])
def test_covariates_and_caps_are_refused_and_guardrails_change_nothing(goal: Revenue) -> None:
    asked: dict[str, Any] = {"segments": ["device"], "control": "old"}
    with pytest.raises(InvalidEvidenceError, match="no covariates, orders or caps; leave them out of 'paid'"):
        analyze_frame_segments(
            drawn(200).rename({"spent": "paid"}), **asked, goals={"bought": "converted", "paid": goal}
        )
    guarded, plain = (
        analyze_frame_segments(drawn(200), **asked, goals={"bought": "converted", "spent": one})
        for one in (Revenue(guardrail=2, minimum_effect=30), "revenue")
    )
    assert (
        differences([goal.segments for goal in guarded.goals], [goal.segments for goal in plain.goals]) == []
    )
