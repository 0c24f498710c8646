"""Values of visitors in a frame besides counts: covariates, orders, caps."""

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import stats

from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import KINDS, Converted, Ratio, Revenue, Value
from tests.hall import hall_p
from tests.public_data import EmailChallenge


def shoppers(n: int = 6_000, *, lift: float = 0.1, seed: int = 5) -> pl.DataFrame:
    """Visitors who spend as they did before, give or take, and more where they are treated."""
    rng = np.random.default_rng(seed)
    treated = rng.random(n) < 0.5
    taste = rng.gamma(2.0, 20.0, n)
    orders = rng.poisson(1.5, n)
    spent = np.round(taste * (1 + lift * treated) * orders * rng.uniform(0.8, 1.2, n), 2)
    return pl.DataFrame(
        {
            "variant": np.where(treated, "new", "old"),
            "spent": spent,
            "orders": orders,
            "before": taste,
            "bought": orders > 0,
            "bought_before": (rng.random(n) < np.where(orders > 0, 0.7, 0.2)).astype(float),
        }
    )


def variant_of(df: pl.DataFrame, goals: Any, **more: Any) -> VariantResult:
    report = analyze_frame(df, control="old", goals=goals, **more)
    return report.goals[0].variants[1]


def bounds(found: VariantResult) -> tuple[float, float]:
    interval = found.improvement_interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def cents(df: pl.DataFrame, variant: str) -> Any:
    return df.filter(pl.col("variant") == variant)["spent"].to_numpy() * 100


def covariance_analysis(df: pl.DataFrame, outcome: str, covariate: str) -> Any:
    treated = (df["variant"] == "new").to_numpy().astype(float)
    x = sm.add_constant(np.column_stack([treated, df[covariate].to_numpy()]))
    return sm.OLS(df[outcome].cast(pl.Float64).to_numpy(), x).fit(cov_type="HC0")


@pytest.mark.parametrize(("outcome", "kind", "covariate", "unit"), [
    ("spent", "revenue", "before", 100.0),
    ("bought", "custom_event", "bought_before", 1.0),
])  # fmt: skip
def test_adjusted_difference_and_p_are_those_of_an_analysis_of_covariance(
    outcome: str, kind: str, covariate: str, unit: float
) -> None:
    df = shoppers(seed=6)
    found = variant_of(df, {outcome: KINDS[kind](covariates=covariate)})
    fit = covariance_analysis(df, outcome, covariate)
    assert found.compared.absolute_difference == pytest.approx(unit * fit.params[1], rel=1e-9)
    # Robust errors differ from ours by the degrees of freedom only.
    assert found.compared.log_p_value == pytest.approx(np.log(fit.pvalues[1]), rel=0.01)


def test_unadjusted_result_stands_beside_the_adjusted_one() -> None:
    df = shoppers()
    adjusted = variant_of(df, {"spent": Revenue(covariates="before")})
    plain = variant_of(df, {"spent": "revenue"})
    beside = adjusted.details.unadjusted
    assert beside is not None
    assert plain.details.unadjusted is None
    assert (beside.improvement, beside.p_value, beside.improvement_interval, beside.status) == (
        plain.improvement,
        plain.p_value,
        plain.improvement_interval,
        plain.status,
    )
    assert (adjusted.compared.log_p_value or 0) < (plain.compared.log_p_value or 0)
    fit = covariance_analysis(df, "spent", "before")
    raw = sm.OLS(df["spent"].to_numpy(), sm.add_constant((df["variant"] == "new").to_numpy() * 1.0)).fit()
    assert beside.variance_reduction == pytest.approx(1 - fit.ssr / raw.ssr, abs=2e-3)
    # What was counted is as it was.
    assert (adjusted.revenue_cents, adjusted.conversions) == (plain.revenue_cents, plain.conversions)


def test_a_covariate_that_says_half_halves_the_variance() -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal(40_000)
    df = pl.DataFrame(
        {
            "variant": np.where(rng.random(40_000) < 0.5, "new", "old"),
            "spent": 100 + x + rng.standard_normal(40_000),
            "before": x,
        }
    )
    found = variant_of(df, {"spent": Revenue(covariates="before")}).details.unadjusted
    assert found is not None
    assert found.variance_reduction == pytest.approx(0.5, abs=0.01)


def test_visitors_without_a_past_stay_as_they_are() -> None:
    df = shoppers().with_row_index("i")
    unknown = df.with_columns(before=pl.when(pl.col("i") % 3 > 0).then("before"))
    some = variant_of(unknown, {"spent": Revenue(covariates="before")})
    whole = variant_of(df, {"spent": Revenue(covariates="before")})
    none = unknown.with_columns(before=pl.lit(None, pl.Float64))
    assert variant_of(none, {"spent": Revenue(covariates="before")}).details.unadjusted is None
    assert some.details.unadjusted is not None
    assert whole.details.unadjusted is not None
    gain = some.details.unadjusted.variance_reduction / whole.details.unadjusted.variance_reduction
    assert gain == pytest.approx(2 / 3, abs=0.1)


def test_few_conversions_are_judged_exactly_and_not_adjusted() -> None:
    df = shoppers(400).with_row_index("i").with_columns(bought=pl.col("i") % 60 == 0)
    found = variant_of(df, {"bought": Converted(covariates="bought_before")})
    plain = variant_of(df, ["bought"])
    assert (found.details.unadjusted, found.p_value) == (None, plain.p_value)


def test_capped_revenue_is_that_of_capped_values() -> None:
    df = shoppers()
    found = variant_of(df, {"spent": Revenue(cap_percentile=95)})
    cap = np.percentile(df.filter(pl.col("spent") > 0)["spent"] * 100, 95, method="inverted_cdf")
    new, old = (np.minimum(np.round(cents(df, name)), cap) for name in ("new", "old"))
    assert found.details.capped is not None
    assert found.details.capped.cap == cap
    assert found.details.capped.visitors == (np.round(cents(df, "new")) > cap).sum()
    assert found.compared.log_p_value == pytest.approx(np.log(hall_p(new, old)), rel=1e-9)
    assert found.improvement == pytest.approx(new.mean() / old.mean() - 1, rel=1e-12)
    # Money that came in stays money.
    assert found.revenue_cents == round(cents(df, "new").sum())


def test_revenue_per_order_is_a_ratio_of_sums_with_the_error_of_the_delta_method() -> None:
    df = shoppers()
    found = variant_of(df, {"spent": Revenue(orders="orders")})
    ratios, variances = [], []
    both = sum(np.round(cents(df, name)).sum() for name in ("old", "new")) / df["orders"].sum()
    for name in ("old", "new"):
        part = df.filter(pl.col("variant") == name)
        y, x = np.round(cents(df, name)), part["orders"].to_numpy().astype(float)
        ratios.append(y.sum() / x.sum())
        # Residuals by the ratio of both variants.
        variances.append(np.var(y - both * x, ddof=1) / len(x) / x.mean() ** 2)
    assert found.compared.absolute_difference == pytest.approx(ratios[1] - ratios[0], rel=1e-9)
    z = (ratios[1] - ratios[0]) / np.sqrt(sum(variances))
    assert found.compared.log_p_value == pytest.approx(np.log(2 * stats.norm.sf(abs(z))), rel=5e-3)
    assert found.details.per_order is not None
    assert found.details.per_order.value == pytest.approx(ratios[1], rel=1e-9)
    assert found.details.per_order.n == df.filter(pl.col("variant") == "new")["orders"].sum()


def test_adjusting_a_ratio_by_what_goes_with_it_makes_it_surer() -> None:
    df = shoppers(20_000)
    plain = variant_of(df, {"spent": Revenue(orders="orders")})
    adjusted = variant_of(df, {"spent": Revenue(orders="orders", covariates="before")})
    assert adjusted.details.unadjusted is not None
    assert adjusted.details.unadjusted.p_value == plain.p_value
    assert adjusted.details.unadjusted.variance_reduction > 0.3
    # The tenth more that was put in is found closer by.
    low, high = bounds(adjusted)
    assert low < 0.1 < high
    assert high - low < 0.9 * (bounds(plain)[1] - bounds(plain)[0])


def test_rows_of_one_visitor_come_together_before_anything_is_cut_or_counted() -> None:
    df = shoppers(2_000).with_row_index("who")
    halves = pl.concat(
        [df.with_columns(pl.col("spent") / 2, pl.col("orders") * 0), df.with_columns(pl.col("spent") / 2)]
    )
    goals = {"spent": Revenue(orders="orders", covariates="before", cap_percentile=90)}
    once = variant_of(df.with_columns((pl.col("spent") / 2).round(2) * 2), goals)
    twice = variant_of(halves.with_columns(pl.col("spent").round(2)), goals, visitor="who")
    assert twice.compared.log_p_value == pytest.approx(once.compared.log_p_value, rel=1e-9)


@pytest.mark.parametrize(("goal", "message"), [
    (Revenue(covariates="befor"), "did you mean 'before'"),
    (Revenue(covariates="variant"), "is the variant"),
    (Revenue(covariates="spent"), "'spent' is a covariate of 'spent' and what it is counted from"),
    (Revenue(covariates=["before", "spent"]), "what it is counted from"),
    (Revenue(covariates="orders", orders="orders"), "what it is counted from"),
    (Ratio("orders", "spent", covariates="orders"), "what it is counted from"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(goal: FrameGoal, message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        variant_of(shoppers(100), {"spent": goal})


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", [Revenue, Value])
def test_a_copy_of_the_goal_is_no_covariate(several: bool, kind: Any) -> None:  # noqa: FBT001
    """Whatever its unit is, and in a table that its engine counts too."""
    df = shoppers(400).with_columns(copy=3 - pl.col("spent").round(2) / 7)
    goals = {"spent": kind(covariates=["copy", "before"] if several else "copy")}
    with duckdb.connect() as connection:
        for frame in (df, connection.from_arrow(df.to_arrow())):
            with pytest.raises(InvalidEvidenceError, match="'spent' explain it to the last digit"):
                analyze_frame(frame, control="old", goals=goals)


def test_a_covariate_that_matches_hardly_any_visitor_by_accident_is_taken() -> None:
    df = shoppers(400).with_columns(sold=pl.int_range(pl.len()) < 3)
    df = df.with_columns(sold_before=pl.col("sold").cast(pl.Float64))
    report = analyze_frame(df, control="old", goals={"sold": Converted(covariates="sold_before")})
    assert report.goals[0].variants[1].p_value is not None


@pytest.mark.parametrize("column", ["spent", "before"])
def test_numbers_beyond_sums_of_squares_are_refused_by_name(column: str) -> None:
    df = shoppers(100).with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(1e308).otherwise(column).alias(column)
    )
    with duckdb.connect() as connection:
        for frame in (df, connection.from_arrow(df.to_arrow())):
            with pytest.raises(InvalidEvidenceError, match=f"'{column}' holds numbers beyond 1e"):
                analyze_frame(frame, control="old", goals={"spent": Value(covariates="before")})


def test_numbers_of_any_size_that_is_taken_have_the_same_p_value() -> None:
    df = shoppers(400)
    largest = df.select(pl.max_horizontal("spent", "before").max()).item()
    large = df.with_columns(pl.col("spent", "before") * (1e50 / largest))
    one, other = (variant_of(frame, {"spent": Value(covariates="before")}) for frame in (df, large))
    assert other.p_value == pytest.approx(one.p_value, rel=1e-9)


def test_infinite_covariates_are_refused() -> None:
    df = shoppers(100).with_columns(before=pl.lit(np.inf))
    with pytest.raises(InvalidEvidenceError, match="infinite"):
        variant_of(df, {"spent": Revenue(covariates="before")})


def test_a_covariate_that_differed_between_the_arms_beforehand_gives_the_alarm() -> None:
    df = shoppers().with_columns(before=pl.col("before") + 20 * (pl.col("variant") == "new"))
    report = analyze_frame(df, control="old", goals={"spent": Revenue(covariates="before")})
    check = next(check for check in report.health if check.check == "alike_before")
    assert check.status == "alarm"
    assert report.goals[0].decision.recommendation == "fix_data"
    sound = analyze_frame(shoppers(), control="old", goals={"spent": Revenue(covariates="before")})
    assert {check.check: check.status for check in sound.health}["alike_before"] == "ok"


def test_a_prior_on_the_lift_draws_it_to_what_was_believed() -> None:
    df = shoppers(20_000, lift=0.02)
    flat = variant_of(df, {"spent": "revenue"}, analysis_method="bayesian")
    sceptical = Statistics(prior="lift", prior_deviation_percent=0.5)
    drawn = variant_of(df, {"spent": "revenue"}, analysis_method="bayesian", statistics=sceptical)
    wide = Statistics(prior="lift", prior_deviation_percent=1000.0)
    open_minded = variant_of(df, {"spent": "revenue"}, analysis_method="bayesian", statistics=wide)
    assert abs(drawn.improvement or 1) < 0.3 * abs(flat.improvement or 0)
    assert open_minded.chance_to_beat == pytest.approx(flat.chance_to_beat, abs=2e-3)
    assert open_minded.improvement == pytest.approx(flat.improvement, abs=0.01)


def test_history_makes_the_email_experiment_surer(email_challenge: EmailChallenge) -> None:
    df = pl.read_csv(email_challenge.path)
    report = analyze_frame(
        df,
        control="No E-Mail",
        variant="segment",
        goals={"spend": Revenue(covariates="history"), "visit": Converted(covariates="history")},
    )
    for goal in report.goals:
        for found in goal.variants[1:]:
            assert found.details.unadjusted is not None
            assert 0 < found.details.unadjusted.variance_reduction < 0.05
            assert found.status == "winner"
    assert {check.check: check.status for check in report.health}["alike_before"] == "ok"


def test_the_words_say_what_was_done_to_the_values() -> None:
    df = shoppers()
    goals = {"spent": Revenue(covariates="before", cap_percentile=95)}
    report = analyze_frame(df, control="old", goals=goals)
    said = report.goals[0].decision.explanation
    assert "; adjusted for pre-period activity; amounts capped at" in said
    assert "per visitor" in said
    per_order = analyze_frame(df, control="old", goals={"spent": Revenue(orders="orders")})
    assert "per order, and 'old'" in per_order.goals[0].decision.explanation
