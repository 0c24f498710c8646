"""Several covariates, categories among them, of goals in a frame."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from engine.analysis.results.variant_result import Unadjusted, VariantResult
from engine.design.analysis_settings import Statistics
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Ratio, Value


def shoppers(n: int = 3_000, *, seed: int = 4) -> pl.DataFrame:
    """Visitors whose spending follows earlier spending and visits, and the country; half of them are new."""
    rng = np.random.default_rng(seed)
    treated = rng.random(n) < 0.5
    taste, visits = rng.gamma(2.0, 10.0, n), rng.poisson(3.0, n).astype(float)
    country = rng.choice(["CH", "DE", "FR"], n, p=[0.2, 0.5, 0.3])
    level = np.where(country == "CH", 60.0, np.where(country == "FR", 20.0, 0.0))
    spend = np.maximum(taste + 3 * visits + level + 2 * treated + rng.normal(0, 10, n), 0.0)
    return pl.DataFrame(
        {
            "variant": np.where(treated, "new", "old"),
            "spend": spend,
            "orders": 1 + rng.poisson(spend / 40),
            "spend_before": taste,
            "visits_before": visits,
            "country": country,
            "newcomer": rng.random(n) < 0.5,
        }
    ).with_columns(known=pl.when(~pl.col("newcomer")).then("spend_before"))


def compared(df: pl.DataFrame, covariates: Any, goal: FrameGoal | None = None) -> VariantResult:
    spend = (goal or Value()).with_options(covariates=covariates)
    return analyze_frame(df, control="old", goals={"spend": spend}).goals[0].variants[1]


def unadjusted(found: VariantResult) -> Unadjusted:
    assert found.details.unadjusted is not None
    return found.details.unadjusted


def coefficient(df: pl.DataFrame, outcome: Any, *columns: Any) -> float:
    """Fit the outcome on the variant and the columns; the variant's coefficient."""
    treated = (df["variant"] == "new").cast(pl.Float64).to_numpy()
    return float(sm.OLS(outcome, sm.add_constant(np.column_stack([treated, *columns]))).fit().params[1])


def dummies(df: pl.DataFrame, *categories: str) -> list[Any]:
    return [(df["country"] == one).cast(pl.Float64).to_numpy() for one in categories]


def test_several_covariates_are_an_analysis_of_covariance() -> None:
    df = shoppers()
    found = compared(df, ["spend_before", "visits_before", "country"])
    expected = coefficient(
        df, df["spend"].to_numpy(), df["spend_before"], df["visits_before"], *dummies(df, "CH", "FR")
    )
    assert found.compared.absolute_difference == pytest.approx(expected, rel=1e-9)
    assert unadjusted(found).variance_reduction > 0.7
    assert unadjusted(found).p_value == unadjusted(compared(df, "country")).p_value


def test_one_number_in_a_list_is_that_number() -> None:
    df = shoppers()
    assert compared(df, ["known"]) == compared(df, "known")


def test_visitors_without_a_past_gain_by_their_country() -> None:
    df = shoppers()
    alone, both = compared(df.filter("newcomer"), "country"), compared(df, ["known", "country"])
    assert unadjusted(alone).variance_reduction > 0.5
    expected = coefficient(
        df,
        df["spend"].to_numpy(),
        df["known"].fill_null(strategy="mean"),
        df["newcomer"].cast(pl.Float64),
        *dummies(df, "CH", "FR"),
    )
    assert both.compared.absolute_difference == pytest.approx(expected, rel=1e-9)


def test_repeated_covariates_change_nothing() -> None:
    df = shoppers().with_columns(twice=2 * pl.col("spend_before"), same=pl.col("country"), one=pl.lit(1))
    plain = compared(df, ["spend_before", "country"])
    repeated = compared(df, ["spend_before", "country", "twice", "same", "one"])
    assert repeated.compared.absolute_difference == pytest.approx(
        plain.compared.absolute_difference, rel=1e-9
    )
    assert repeated.compared.log_p_value == pytest.approx(plain.compared.log_p_value, rel=1e-9)


def test_an_unknown_category_is_one_of_its_own() -> None:
    df = shoppers().with_columns(country=pl.when(pl.col("newcomer")).then("country"))
    known = [(df["country"] == one).fill_null(value=False).cast(pl.Float64) for one in ("CH", "DE", "FR")]
    expected = coefficient(df, df["spend"].to_numpy(), *known)
    assert compared(df, "country").compared.absolute_difference == pytest.approx(expected, rel=1e-9)


def test_rare_categories_share_one() -> None:
    # 49 towns of 40 visitors each, and 1,040 towns of one visitor.
    towns = [str(each // 40) if each < 1_960 else f"rare {each}" for each in range(3_000)]
    df = shoppers().with_columns(town=pl.Series(towns))
    few = df.with_columns(
        town=pl.when(pl.col("town").str.starts_with("rare")).then(pl.lit("rare")).otherwise("town")
    )
    # One of the rare towns, the first by name, is the fiftieth with a column of its own.
    few = few.with_columns(
        town=pl.when(df["town"] == "rare 1960").then(pl.lit("rare 1960")).otherwise("town")
    )
    many, together = compared(df, "town"), compared(few, "town")
    assert many.compared.absolute_difference == pytest.approx(together.compared.absolute_difference, rel=1e-9)


def test_a_ratio_is_adjusted_by_the_index_of_its_linearized_values() -> None:
    df = shoppers()
    found = compared(df, ["spend_before", "country"], Ratio("spend", "orders"))
    linear = np.zeros(df.height)
    for arm in ("old", "new"):
        rows = (df["variant"] == arm).to_numpy()
        y, x = df["spend"].to_numpy()[rows], df["orders"].to_numpy()[rows]
        ratio = y.sum() / x.sum()
        linear[rows] = ratio + (y - ratio * x) / x.mean()
    expected = coefficient(df, linear, df["spend_before"], *dummies(df, "CH", "FR"))
    assert found.compared.absolute_difference == pytest.approx(expected, rel=1e-9)


def test_rows_of_a_visitor_have_the_category_of_the_first() -> None:
    df = shoppers(400).with_row_index("who").with_columns(at=pl.lit("2026-03-01"))
    later = df.with_columns(country=pl.lit("US"), at=pl.lit("2026-03-02"), spend=pl.lit(0.0))
    more: dict[str, Any] = {
        "visitor": "who",
        "timestamp": "at",
        "goals": {"spend": Value(covariates="country")},
    }
    once, twice = (
        analyze_frame(frame, control="old", **more).goals[0].variants[1]
        for frame in (df, pl.concat([later, df]))
    )
    assert twice.compared.absolute_difference == pytest.approx(once.compared.absolute_difference, rel=1e-12)


def test_the_words_name_covariates() -> None:
    report = analyze_frame(shoppers(), control="old", goals={"spend": Value(covariates=["known", "country"])})
    assert "; adjusted for covariates)" in report.goals[0].decision.explanation


def test_one_category_of_two_is_a_covariate_too() -> None:
    two = shoppers().filter(pl.col("country") != "FR")
    report = analyze_frame(two, control="old", goals={"spend": Value(covariates="country")})
    assert "; adjusted for covariates)" in report.goals[0].decision.explanation


@pytest.mark.parametrize(("covariates", "message"), [
    ([], "are columns, one or a list of them, not"),
    (["country", "variant"], "'variant' is the variant"),
    (["countr"], "did you mean 'country'"),
])  # fmt: skip
def test_covariates_that_cannot_be_used_are_refused(covariates: list[str], message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        compared(shoppers(50), covariates)


def test_covariates_of_a_service_are_no_columns() -> None:
    statistics = Statistics(cuped=True, covariates=("country",))
    with pytest.raises(InvalidEvidenceError, match="name them with each goal"):
        analyze_frame(shoppers(200), control="old", goals={"spend": Value()}, statistics=statistics)


def test_a_report_names_the_covariates_of_a_goal() -> None:
    found = unadjusted(compared(shoppers(), ["spend_before", "country"]))
    assert found.covariates == ("spend_before", "country")
