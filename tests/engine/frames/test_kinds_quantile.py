"""Goals that are quantiles: from rows to a report, by the decision rule."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.results.report import GoalReport
from engine.analysis.results.variant_result import VariantResult
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.epochs import WeightEpochs
from engine.frames.kinds import Quantile
from engine.frames.quantiles import analyze_frame_quantiles
from engine.frames.segments import analyze_frame_segments
from engine.stats.frequentist.quantiles import ValueCounts, compare_quantiles
from engine.stats.sequential.confidence_sequence_boundary import critical_value
from engine.stats.value_buckets import count_values
from tests.builders import STARTED


def visits(scale: float = 1.25, n: int = 3_000, seed: int = 3, **columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    treated = rng.random(n) < 0.5
    seconds = np.rint(rng.lognormal(3.0, 0.8, n) * np.where(treated, scale, 1.0))
    return pl.DataFrame({"variant": np.where(treated, "new", "old"), "seconds": seconds, **columns})


def primary(df: pl.DataFrame, goals: dict[str, Any], **settings: Any) -> GoalReport:
    found = analyze_frame(df, control="old", goals=goals, **settings).primary
    assert found is not None
    return found


def new(df: pl.DataFrame, q: float = 0.9, **settings: Any) -> VariantResult:
    return primary(df, {"p": Quantile("seconds", q=q)}, **settings).variants[1]


def test_a_quantile_is_compared_as_by_analyze_quantiles() -> None:
    df = visits()
    found, (plain,) = new(df), analyze_frame_quantiles(df, "seconds", [0.9], control="old")
    assert found.status == "winner"
    assert found.mean == pytest.approx(plain.value, rel=0.01)
    assert found.p_value == pytest.approx(plain.p_value, abs=0.001)
    for one, other in (
        (found.improvement_interval, plain.improvement_interval),
        (found.compared.absolute_difference_interval, plain.difference_interval),
    ):
        assert one is not None
        assert other is not None
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=0.1)
    own = found.rate_interval
    assert own is not None
    assert (own.low or 0) < (found.mean or 0) < (own.high or 0)


def test_the_verdict_names_the_quantile() -> None:
    decision = primary(visits(), {"p90": Quantile("seconds", q=0.9)}).decision
    assert "'new' had a 0.9 quantile of" in decision.explanation
    assert decision.recommendation == "ship"


def test_less_may_be_better() -> None:
    goal = Quantile("seconds", q=0.5, less_is_better=True)
    assert primary(visits(), {"median": goal}).variants[1].status == "loser"


def test_whole_counts_of_one_distribution_do_not_differ() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        df = pl.DataFrame({"variant": ["old", "new"] * 1_000, "seconds": rng.poisson(2.67, 2_000)})
        assert new(df, q=0.5).status == "inconclusive"


def test_visitors_are_counted_once_and_those_without_a_value_are_left_out() -> None:
    df = visits(visitor=np.arange(3_000))
    parts = pl.concat([df, df.with_columns(seconds=pl.lit(0.0)), df.with_columns(seconds=None)])
    unknown = df.head(50).with_columns(visitor=pl.col("visitor") + 10_000, seconds=None)
    found = new(pl.concat([parts, unknown], how="vertical_relaxed"), visitor="visitor")
    assert (found.mean, found.p_value) == (new(df).mean, new(df).p_value)
    assert found.visitors == (found.observed_visitors or 0) + unknown.filter(variant="new").height


def events(alike: float, seed: int = 5) -> pl.DataFrame:
    """Rows of events, several a visitor, of which a share of the variance is the visitor's."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(600), rng.poisson(4.0, 600))
    own = rng.normal(size=600)[who]
    value = np.exp(np.sqrt(alike) * own + np.sqrt(1 - alike) * rng.normal(size=len(who)))
    treated = who % 2 == 1
    return pl.DataFrame(
        {"variant": np.where(treated, "new", "old"), "visitor": who, "seconds": value * (1 + 0.3 * treated)}
    )


def test_a_quantile_of_all_rows_has_the_error_of_visitors() -> None:
    df, p90 = events(0.5), Quantile("seconds", q=0.9, of="event")
    found = primary(df, {"p": p90}, visitor="visitor").variants[1]
    (plain,) = analyze_frame_quantiles(df, "seconds", [0.9], control="old")
    assert found.mean == pytest.approx(plain.value, rel=0.01)
    assert found.visitors == df.filter(variant="new")["visitor"].n_unique()
    # Of rows that are taken for visitors: a smaller error, where a visitor's rows are alike.
    assert found.compared.log_p_value is not None
    assert plain.p_value is not None
    assert found.compared.log_p_value > np.log(plain.p_value) + 0.5
    # Where rows are no more alike than others, each is worth as much as one of a visitor.
    apart = events(0.0)
    (plain,) = analyze_frame_quantiles(apart, "seconds", [0.9], control="old")
    independent = primary(apart, {"p": p90}, visitor="visitor").variants[1]
    assert independent.p_value == pytest.approx(plain.p_value, rel=0.5)


def test_lists_have_several_values_a_row() -> None:
    df, p90 = events(0.5), Quantile("seconds", q=0.9, of="event")
    listed = df.group_by("visitor", "variant").agg("seconds")
    empty = listed.head(1).with_columns(
        visitor=pl.lit(9_999, pl.Int64), seconds=pl.lit([], pl.List(pl.Float64))
    )
    by_row = primary(df, {"p": p90}, visitor="visitor").variants[1]
    for settings in ({}, {"visitor": "visitor"}):
        by_list = primary(pl.concat([listed, empty]), {"p": p90}, **settings).variants[1]
        assert (by_list.mean, by_list.compared.log_p_value) == (by_row.mean, by_row.compared.log_p_value)


def test_too_few_beyond_the_quantile_is_not_enough_data() -> None:
    found = new(visits(n=1_000), q=0.99)
    assert found.status == "insufficient_data"
    assert found.reason is not None
    assert "10 visitors beyond the quantile are required" in found.reason


def test_variants_of_unequal_size_are_compared() -> None:
    uneven = visits(1.5, n=4_000).filter((pl.col("variant") == "old") | (pl.int_range(pl.len()) % 9 == 0))
    assert new(uneven).status == "winner"


def test_no_difference_is_shown_within_the_minimum_effect() -> None:
    goal = Quantile("seconds", q=0.5, minimum_effect=20)
    assert primary(visits(1.0, n=6_000), {"median": goal}).decision.reason == "no_difference"


def test_a_quantile_as_a_guardrail_breaks_where_the_test_loses_more() -> None:
    df = visits(1.4).with_columns(bought=pl.Series(np.random.default_rng(1).random(3_000) < 0.3))
    goals: dict[str, Any] = {
        "bought": "converted",
        "p50": Quantile("seconds", q=0.5, guardrail=5, less_is_better=True),
    }
    assert primary(df, goals).decision.recommendation == "rollback"


def test_a_running_test_is_judged_by_the_sequence() -> None:
    at = [STARTED + timedelta(minutes=4 * minute) for minute in range(6_000)]
    df = visits(1.5, n=6_000, at=at)
    report = primary(df, {"p": Quantile("seconds", q=0.5)}, timestamp="at", running=True)
    found = report.variants[1]
    assert found.compared.sequential_interval is not None
    assert (found.compared.sequential_interval.low or 0) > 0
    assert report.decision.recommendation == "ship"


def test_a_bayesian_report_has_the_chance_to_beat() -> None:
    found = new(visits(), analysis_method="bayesian")
    assert found.chance_to_beat is not None
    assert found.chance_to_beat > 0.99


@pytest.mark.long(seconds=6)
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.poisson(2.67, n),
        lambda rng, n: np.rint(rng.lognormal(2.5, 0.8, n)),
        lambda rng, n: rng.lognormal(0.0, 1.0, n),
    ],
    ids=["counts", "seconds", "lognormal"],
)
def test_daily_looks_at_one_distribution_keep_within_the_sequence(
    draw: Callable[[np.random.Generator, int], Any],
) -> None:
    rng, runs, days, each = np.random.default_rng(9), 400, 14, 150
    beyond = 0
    for _ in range(runs):
        values = [draw(rng, days * each).astype(float) for _ in range(2)]
        for day in range(1, days + 1):
            arms = [count_values(one[: day * each]) for one in values]
            z = float(compare_quantiles(arms[0], arms[1], 0.5, 0.05).z)
            if abs(z) > critical_value(day / days, 0.05):
                beyond += 1
                break
    # Two standard errors of 400 runs beyond 5%; the sequence itself is conservative at daily looks.
    assert beyond / runs < 0.05 + 0.022


def test_quantiles_of_buckets_find_the_differences_of_the_values() -> None:
    rng = np.random.default_rng(12)
    for _ in range(20):
        values = [rng.lognormal(2.0, 1.0, 700), 1.1 * rng.lognormal(2.0, 1.0, 700)]
        exact, counted = (
            compare_quantiles(make(values[0]), make(values[1]), 0.5, 0.05).z
            for make in (ValueCounts.of, count_values)
        )
        assert counted == pytest.approx(exact, abs=0.4)


def test_no_status_where_one_visitor_has_most_of_the_rows() -> None:
    df = events(0.5).with_columns(plan=pl.lit("free"))
    sent = df.with_columns(variant=pl.lit("new"), visitor=pl.lit(1, pl.Int64), seconds=pl.col("seconds") * 2)
    often = pl.concat([df, sent, sent, sent])
    goals = {"p": Quantile("seconds", q=0.5, of="event")}
    found = primary(often, goals, visitor="visitor").variants[1]
    assert primary(df, goals, visitor="visitor").variants[1].status != "insufficient_data"
    assert found.status == "insufficient_data"
    assert "one visitor of 'new' may have up to" in str(found.reason)
    report = analyze_frame_segments(often, segments=["plan"], control="old", goals=goals, visitor="visitor")
    assert report.goals[0].segments[0].variants[0].status == "insufficient_data"


@pytest.mark.parametrize("of", ["visitor", "event"])
def test_by_segment_each_is_compared_as_alone_and_with_the_rest(of: Any) -> None:
    df = events(0.5).with_columns(plan=pl.when(pl.col("visitor") % 4 < 2).then(pl.lit("free")))
    df = df.with_columns(pl.col("seconds") * pl.when(plan="free").then(1.0).otherwise(1.5))
    goal = Quantile("seconds", q=0.5, of=of)
    report = analyze_frame_segments(
        df, segments=["plan"], control="old", goals={"p": goal}, visitor="visitor"
    )
    (segment,) = report.goals[0].segments
    found = segment.variants[0]
    alone, rest = (
        primary(df.filter(rows), {"p": goal}, visitor="visitor").variants[1]
        for rows in (pl.col("plan") == "free", pl.col("plan").is_null())
    )
    assert (found.mean, found.improvement) == (alone.mean, alone.improvement)
    assert found.adjusted_p_value == pytest.approx(alone.p_value)
    assert found.rest_improvement == rest.improvement


EPOCHS: WeightEpochs = [(STARTED, {"old": 1, "new": 1}), (STARTED + timedelta(days=1), {"old": 1, "new": 3})]


def test_what_a_quantile_cannot_be_is_refused() -> None:
    goals: dict[str, Any] = {"p": Quantile("seconds", q=0.5)}
    with pytest.raises(InvalidEvidenceError, match="no covariates"):
        Quantile("seconds", q=0.5, covariates="before")
    with pytest.raises(InvalidEvidenceError, match=r"from 0\.001 to 0\.999"):
        Quantile("seconds", q=1.0)
    with pytest.raises(InvalidEvidenceError, match="'visitor' or 'event'"):
        Quantile("seconds", q=0.5, of="row")  # type: ignore[arg-type]  # what a caller may write
    with pytest.raises(InvalidEvidenceError, match="a cap is for"):
        Quantile("seconds", q=0.5, cap_percentile=99)  # type: ignore[call-arg]  # what a caller may write
    with pytest.raises(InvalidEvidenceError, match="takes only goals of"):
        analyze_frame(
            visits(at=[STARTED] * 3_000), control="old", goals=goals, timestamp="at", weight_epochs=EPOCHS
        )
    with pytest.raises(InvalidEvidenceError, match="is a quantile, which takes rows"):
        analyze_frame(
            sums=pl.DataFrame({"variant": ["old", "new"], "visitors": [5, 5]}), control="old", goals=goals
        )
