"""Goals of counts, values, ratios and retention against SciPy, statsmodels and closed forms."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportions_ztest

from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import KINDS, Count, Funnel, Ratio, Value
from tests.hall import hall_p

WEIGHTS = {"old": 0.6, "new": 0.4}


def readers(n: int = 4_000, *, seed: int = 11) -> pl.DataFrame:
    """Visitors who view pages and click, have a score of either sign, and come back or not."""
    rng = np.random.default_rng(seed)
    treated = rng.random(n) < 0.4
    habit = rng.gamma(2.0, 1.0, n)
    pages = rng.poisson(habit * (1 + 0.1 * treated))
    kept = rng.random(n) < 0.3 + 0.03 * treated
    return pl.DataFrame(
        {
            "variant": np.where(treated, "new", "old"),
            "pages": pages,
            "clicks": rng.binomial(pages, 0.3),
            "score": rng.normal(-0.4 + 0.2 * treated, 1.5, n),
            "kept": pl.Series(kept).to_frame("kept").with_columns(
                pl.when(pl.Series(rng.random(n) < 0.8)).then("kept")
            )["kept"],
            "habit": habit,
            "views": rng.poisson(habit),
        }
    )  # fmt: skip


def compared(df: pl.DataFrame, goals: Any, **more: Any) -> tuple[VariantResult, VariantResult]:
    control, variant = analyze_frame(df, control="old", goals=goals, **more).goals[0].variants
    return control, variant


def arms(df: pl.DataFrame, column: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    new, old = (
        df.filter(pl.col("variant") == arm)[column].drop_nulls().cast(pl.Float64).to_numpy()
        for arm in ("new", "old")
    )
    return new, old


@pytest.mark.parametrize(("column", "kind"), [("pages", "count"), ("score", "value"), ("score", "mean")])
def test_counts_and_values_are_compared_as_means_by_visitor(column: str, kind: str) -> None:
    df = readers()
    (control, variant), (new, old) = compared(df, {column: kind}), arms(df, column)
    assert variant.mean == pytest.approx(new.mean(), rel=1e-12)
    assert control.mean == pytest.approx(old.mean(), rel=1e-12)
    assert variant.compared.absolute_difference == pytest.approx(new.mean() - old.mean(), rel=1e-9)
    assert variant.compared.log_p_value == pytest.approx(np.log(hall_p(new, old)), rel=1e-9)
    assert variant.conversions == (new != 0).sum()
    assert (variant.revenue_cents, variant.revenue.value) == (0, 0.0)
    interval = variant.rate_interval
    assert interval is not None
    student = stats.t.interval(0.95, new.size - 1, new.mean(), stats.sem(new))
    assert (interval.low, interval.high) == pytest.approx(student, rel=1e-9)


def test_a_mean_below_zero_has_a_difference_and_no_relative_change() -> None:
    report = analyze_frame(readers(), control="old", goals={"score": "value"}, weights=WEIGHTS)
    variant = report.goals[0].variants[1]
    assert variant.improvement is None
    assert variant.reason == "the total of 'old' is negative, so there is no relative change"
    assert variant.status == "winner"
    assert "averaged \N{MINUS SIGN}0." in report.goals[0].decision.explanation
    assert ": a difference of +0." in report.goals[0].decision.explanation


def test_a_mean_is_of_the_visitors_own_means_and_leaves_out_those_without_a_number() -> None:
    rows = pl.DataFrame(
        {
            "who": [1, 1, 2, 3, 4, 4, 5, 6],
            "variant": ["old"] * 4 + ["new"] * 4,
            "load": [1.0, 3.0, 5.0, None, 2.0, None, 8.0, None],
        }
    )
    control, variant = compared(rows, {"load": "mean"}, visitor="who")
    assert (control.mean, variant.mean) == ((2.0 + 5.0) / 2, (2.0 + 8.0) / 2)
    assert (control.observed_visitors, variant.observed_visitors, variant.visitors) == (2, 2, 3)


def test_rows_of_a_visitor_add_up() -> None:
    df = readers(500).with_row_index("who")
    split = pl.concat([df.with_columns(pages=pl.col("pages") // 2), df.with_columns(
        pages=pl.col("pages") - pl.col("pages") // 2)])  # fmt: skip
    whole, halves = (
        compared(frame, {"pages": "count"}, visitor="who")[1] for frame in (df, split)
    )  # fmt: skip
    assert halves.mean == pytest.approx(whole.mean, rel=1e-12)
    assert halves.compared.log_p_value == pytest.approx(whole.compared.log_p_value, rel=1e-9)


def test_a_ratio_of_any_two_columns_has_the_error_of_the_delta_method() -> None:
    df = readers()
    control, variant = compared(df, {"ctr": Ratio("clicks", "pages")})
    (x_t, x_c), (y_t, y_c) = arms(df, "pages"), arms(df, "clicks")
    # Residuals by the ratio of both arms; skewness hardly matters here.
    both = (y_t.sum() + y_c.sum()) / (x_t.sum() + x_c.sum())
    linear = [
        y.sum() / x.sum() + (e := y - both * x) / x.mean() - e.mean() / x.mean()
        for x, y in ((x_t, y_t), (x_c, y_c))
    ]
    welch = stats.ttest_ind(*linear, equal_var=False)
    assert variant.mean == pytest.approx(linear[0].mean(), rel=1e-9)
    assert control.mean == pytest.approx(linear[1].mean(), rel=1e-9)
    assert variant.p_value == pytest.approx(welch.pvalue, rel=1e-2)
    assert variant.improvement == pytest.approx(linear[0].mean() / linear[1].mean() - 1, rel=1e-9)
    assert variant.details.per_order is None


def test_a_ratio_of_small_denominators_is_that_of_the_sums() -> None:
    df = readers().with_columns(hours=pl.col("pages") / 1e6)
    control, _ = compared(df, {"speed": Ratio("clicks", "hours")})
    _, x = arms(df, "hours")
    _, y = arms(df, "clicks")
    assert control.mean == pytest.approx(y.sum() / x.sum(), rel=1e-9)


def test_retention_is_judged_for_visitors_whose_window_is_over() -> None:
    df = readers()
    (control, variant), (new, old) = compared(df, {"kept": "retained"}), arms(df, "kept")
    z, p = proportions_ztest([new.sum(), old.sum()], [new.size, old.size])
    assert variant.p_value == pytest.approx(p, rel=1e-9)
    assert variant.mean == pytest.approx(new.mean(), rel=1e-12)
    assert (variant.observed_visitors, control.observed_visitors) == (new.size, old.size)
    assert variant.visitors == df["variant"].eq("new").sum()
    assert variant.conversion_rate == pytest.approx(new.sum() / variant.visitors, rel=1e-12)
    # Rows that are not known yet change nothing but the number of visitors.
    known = compared(df.drop_nulls("kept"), {"kept": "retained"})[1]
    assert (known.p_value, known.improvement_interval) == (variant.p_value, variant.improvement_interval)
    assert known.observed_visitors is None
    assert z > 0


@pytest.mark.parametrize(("goals", "outcome"), [
    ({"pages": "count"}, "pages"),
    ({"score": "value"}, "score"),
])  # fmt: skip
def test_cuped_of_counts_and_values_is_an_analysis_of_covariance(goals: Any, outcome: str) -> None:
    df = readers()
    _, variant = compared(df, {outcome: KINDS[goals[outcome]](covariates="habit")})
    treated = (df["variant"] == "new").to_numpy().astype(float)
    x = sm.add_constant(np.column_stack([treated, df["habit"].to_numpy()]))
    fit = sm.OLS(df[outcome].cast(pl.Float64).to_numpy(), x).fit()
    assert variant.compared.absolute_difference == pytest.approx(fit.params[1], rel=1e-9)
    plain = compared(df, goals)[1]
    assert variant.details.unadjusted is not None
    assert variant.details.unadjusted.p_value == plain.p_value


def test_cuped_of_a_ratio_keeps_its_unadjusted_result() -> None:
    df = readers()
    adjusted, plain = (
        compared(df, {"ctr": Ratio("clicks", "pages", covariates=covariates)})[1]
        for covariates in ("habit", None)
    )
    assert adjusted.details.unadjusted is not None
    assert adjusted.details.unadjusted.p_value == plain.p_value


def test_counts_are_capped_at_a_percentile_of_those_above_0() -> None:
    df = readers()
    _, variant = compared(df, {"pages": Count(cap_percentile=90)})
    new, old = arms(df, "pages")
    both = np.concatenate([new, old])
    cap = np.percentile(both[both > 0], 90, method="inverted_cdf")
    new, old = np.minimum(new, cap), np.minimum(old, cap)
    assert variant.details.capped is not None
    assert variant.details.capped.cap == cap
    assert variant.details.capped.mean == pytest.approx(new.mean(), rel=1e-12)
    assert variant.details.capped.projected_annual_revenue_impact_cents is None
    assert variant.compared.log_p_value == pytest.approx(np.log(hall_p(new, old)), rel=1e-9)


def test_a_posterior_of_counts_is_normal() -> None:
    df = readers()
    _, variant = compared(df, {"pages": "count"}, analysis_method="bayesian")
    new, old = arms(df, "pages")
    error = np.sqrt(new.var(ddof=1) / new.size + old.var(ddof=1) / old.size)
    assert variant.chance_to_beat == pytest.approx(
        stats.norm.cdf((new.mean() - old.mean()) / error), rel=1e-9
    )


@pytest.mark.parametrize("kind", ["count", "retained", "ratio"])
def test_a_running_test_of_any_measure_is_judged_by_its_plan_and_at_every_look(kind: str) -> None:
    goals: dict[str, dict[str, Any]] = {
        "count": {"pages": "count"},
        "retained": {"kept": "retained"},
        "ratio": {"ctr": Ratio("clicks", "pages")},
    }
    at = pl.datetime_range(pl.datetime(2026, 3, 1), pl.datetime(2026, 3, 9), "1s", eager=True)
    df = readers().with_columns(at=at.gather_every(170).head(4_000))
    report = analyze_frame(
        df,
        control="old",
        goals=goals[kind],
        weights=WEIGHTS,
        timestamp="at",
        running=True,
        statistics=Statistics(sequential="always_valid"),
    )
    variant = report.goals[0].variants[1]
    assert variant.compared.sequential_interval is not None
    assert report.plan.required_visitors is not None
    assert report.plan.source == "blinded"


def test_fewer_of_a_count_can_be_wanted() -> None:
    df = readers().with_columns(errors=pl.col("pages"))
    report = analyze_frame(df, control="old", goals={"errors": Count(less_is_better=True)}, weights=WEIGHTS)
    assert report.goals[0].variants[1].status == "loser"
    assert report.goals[0].decision.recommendation == "rollback"


@pytest.mark.parametrize(("goals", "message"), [
    ({"pages": "counts"}, "kinds are custom_event, converted, revenue, count, value, mean, retained, and"),
    ({"score": "count"}, "holds numbers that are no counts"),
    ({"habit": "retained"}, "other numbers than 0 and 1"),
    ({"variant": "value"}, "not numbers"),
    ({"ctr": Ratio("click", "pages")}, "did you mean 'clicks'"),
    ({"go": Funnel("kept", "pages")}, "other numbers than 0 and 1"),
])  # fmt: skip
def test_goals_that_do_not_fit_their_columns_are_refused(goals: Any, message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        compared(readers(50), goals)


def test_changed_weights_and_means_are_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="leave out 'load', which is Mean"):
        compared(readers(50), {"load": "mean"}, weight_epochs=[(None, {})])


def test_changed_weights_and_covariates_are_refused() -> None:
    with pytest.raises(
        InvalidEvidenceError, match="no covariates, orders or caps; leave them out of 'score'"
    ):
        compared(readers(50), {"score": Value(cap_percentile=99)}, weight_epochs=[(None, {})])
