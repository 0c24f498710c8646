"""Numbers of analyses by cluster: those of formulas from rows, and error rates."""

import duckdb
import numpy as np
import polars as pl
import pytest
import scipy
import statsmodels.api as sm

from engine.frames.kinds import Converted, Count, Funnel, Mean, Ratio, Retained, Revenue, Value
from engine.stats.contingency import Tables
from engine.stats.frequentist.ratio_test import RatioArms
from engine.stats.frequentist.two_sample import log_p_shares
from engine.stats.paired_moments import PairedMoments
from tests.engine.frames.clustered_visitors import accounts, judged, of_variant, sums_of


def p_of_rows(sums: dict[str, tuple[np.ndarray, np.ndarray]]) -> float:
    """Compute p from clusters: T with R₀ of both arms, Welch's df, Hall's (1992) correction for skewness."""
    (x_c, y_c), (x_t, y_t) = sums["A"], sums["B"]
    both = (y_c.sum() + y_t.sum()) / (x_c.sum() + x_t.sum())
    e_c, e_t = (y_c - both * x_c) / x_c.mean(), (y_t - both * x_t) / x_t.mean()
    test = scipy.stats.ttest_ind(e_t, e_c, equal_var=False)
    n_c, n_t = len(e_c), len(e_t)
    centred = np.concatenate([e_c - e_c.mean(), e_t - e_t.mean()])
    variance = (centred**2).mean()
    m3 = (centred**3).mean()
    skewness = m3 * (1 / n_t**2 - 1 / n_c**2) / (variance * (1 / n_t + 1 / n_c)) ** 1.5
    t = float(test.statistic)
    g = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    return float(2 * scipy.stats.t.sf(abs(g), test.df))


GOALS = {
    "bought": Converted(),
    "spent": Revenue(),
    "views": Count(),
    "per view": Ratio("spent", "views"),
    "mean": Value(),
}


@pytest.mark.parametrize("weight", [0.5, 0.25])
def test_numbers_are_those_of_clusters_by_a_formula_from_rows(weight: float) -> None:
    frame = accounts(60, 2, lift=0.5, weight=weight).with_columns(mean=pl.col("before") - 1)
    report = judged(frame, goals=GOALS, weights={"A": 1 - weight, "B": weight})
    for row, (name, x) in enumerate(
        [
            ("bought", pl.len()),
            ("spent", pl.len()),
            ("views", pl.len()),
            ("spent", pl.col("views").sum()),
            ("mean", pl.len()),
        ]
    ):
        sums = sums_of(frame, name, x)
        rates = {arm: y.sum() / x.sum() for arm, (x, y) in sums.items()}
        found = of_variant(report, row)
        assert found.p_value == pytest.approx(p_of_rows(sums), rel=1e-6)
        assert found.improvement == pytest.approx(rates["B"] / rates["A"] - 1, rel=1e-9)
        assert found.clusters == round(weight * 60)
    assert [one.goal.unit for one in report.goals] == ["share", "cents", "number", "number", "number"]
    bought, spent = of_variant(report), of_variant(report, 1)
    here = frame.filter(pl.col("variant") == "B")
    assert (bought.visitors, bought.conversions) == (here.height, here["bought"].sum())
    assert bought.conversion_rate == pytest.approx(here["bought"].to_numpy().mean())
    assert spent.revenue.value == pytest.approx(100 * here["spent"].to_numpy().mean())
    assert spent.compared.absolute_difference is not None
    assert spent.details.per_order is None


@pytest.mark.parametrize("goal", ["bought", "views"])
def test_the_interval_of_a_variant_has_cluster_robust_errors(goal: str) -> None:
    frame = accounts(50, 4)
    found = judged(frame, goals={"bought": "converted", "views": "count"})
    interval = found.goals[["bought", "views"].index(goal)].variants[1].rate_interval
    here = frame.filter(pl.col("variant") == "B")
    robust = sm.OLS(here[goal].cast(pl.Float64).to_numpy(), np.ones(here.height)).fit(
        cov_type="cluster", cov_kwds={"groups": here["account"].rank("dense").to_numpy()}
    )
    reach = scipy.stats.t.ppf(0.975, here["account"].n_unique() - 1) * robust.bse[0]
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(
        (robust.params[0] - reach, robust.params[0] + reach), rel=1e-9
    )


def test_a_permutation_of_clusters_has_the_same_p_value() -> None:
    frame, rng = accounts(40, 7, lift=0.2), np.random.default_rng(1)
    sums = sums_of(frame, "bought", pl.len())
    x, y = (np.concatenate([sums[arm][part] for arm in ("A", "B")]) for part in (0, 1))

    def difference(is_variant: np.ndarray) -> float:
        return float(y[is_variant].sum() / x[is_variant].sum() - y[~is_variant].sum() / x[~is_variant].sum())

    assigned = np.arange(40) >= len(sums["A"][0])
    draws = np.array([difference(rng.permutation(assigned)) for _ in range(4_000)])
    share = float((np.abs(draws) >= abs(difference(assigned))).mean())
    assert of_variant(judged(frame)).p_value == pytest.approx(share, abs=0.03)
    assert 0.02 < share < 0.5


def error_rates(clusters: int, runs: int, seed: int) -> tuple[float, float, float]:
    """Run A/A tests of clusters; better and worse by cluster, and either by visitor, in percent."""
    rng = np.random.default_rng(seed)
    shape = (runs, 2, clusters)
    sizes = np.ceil(40 * rng.lognormal(-0.32, 0.8, shape)).astype(np.int64)
    hits = rng.binomial(sizes, rng.beta(0.9, 8.1, shape))
    arms = [
        PairedMoments.stack(
            [PairedMoments.of(*pair) for pair in zip(sizes[:, arm] * 1.0, hits[:, arm] * 1.0, strict=True)]
        )
        for arm in (0, 1)
    ]
    test = RatioArms(*arms).compare(0.05)
    called = test.log_p < np.log(0.05)
    n, k = sizes.sum(axis=-1), hits.sum(axis=-1)
    ignored = log_p_shares(Tables.of(k[:, 0], n[:, 0], k[:, 1], n[:, 1])) < np.log(0.05)
    return (
        100 * float((called & (test.statistic > 0)).mean()),
        100 * float((called & (test.statistic < 0)).mean()),
        100 * float(ignored.mean()),
    )


@pytest.mark.parametrize("clusters", [10, 20, 50])
def test_a_a_tests_of_clusters_err_rarely_and_of_their_visitors_in_half(clusters: int) -> None:
    better, worse, ignored = error_rates(clusters, 1_500, seed=clusters)
    # The bar of 3.5% and two Monte-Carlo errors of a side of 2.5%.
    assert max(better, worse) <= 3.5 + 0.8
    assert 40 < ignored < 65


@pytest.mark.long(seconds=6)
@pytest.mark.parametrize("clusters", [10, 20, 50])
def test_a_a_tests_of_clusters_err_in_3_5_percent_of_many_runs_at_most(clusters: int) -> None:
    better, worse, _ = error_rates(clusters, 20_000, seed=clusters)
    assert max(better, worse) <= 3.5


@pytest.mark.long(seconds=40)
def test_reports_of_a_a_tests_call_a_winner_or_loser_in_3_5_percent_at_most() -> None:
    statuses = [of_variant(judged(accounts(40, seed))).status for seed in range(1_500)]
    assert max(statuses.count("winner"), statuses.count("loser")) <= (3.5 + 0.8) / 100 * len(statuses)
    assert statuses.count("insufficient_data") < 0.05 * len(statuses)


def test_rows_of_visitors_are_those_of_visitors() -> None:
    frame = accounts(30, 5).with_row_index("visitor")
    twice = pl.concat(
        [frame, frame.with_columns(bought=pl.lit(value=False), spent=pl.lit(0.0), views=pl.lit(0, pl.Int64))]
    )
    goals = {"bought": "converted", "spent": "revenue", "per view": Ratio("spent", "views")}
    once, both = judged(frame, goals=goals), judged(twice, goals=goals, visitor="visitor")
    found = [[goal.variants[1].p_value for goal in report.goals] for report in (once, both)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_outcomes_that_are_not_known_are_of_no_cluster() -> None:
    frame = accounts(40, 5).with_columns(
        load=pl.when(pl.col("account") != "account 1").then("before"),
        stayed=pl.when(pl.col("account") != "account 1").then(pl.col("bought").cast(pl.Int64)),
        is_due=pl.col("account") != "account 1",
    )
    goals = {"load": Mean(), "stayed": Retained(), "bought": Converted(known="is_due")}
    report = judged(frame, goals=goals)
    rest = judged(frame.filter("is_due"), goals=goals)
    assert sum(one.clusters or 0 for one in report.goals[0].variants) == 39
    for row in range(3):
        assert of_variant(report, row).p_value == pytest.approx(of_variant(rest, row).p_value, rel=1e-9)


def test_a_covariate_narrows_the_interval_of_the_same_difference() -> None:
    frame = accounts(100, 8)
    widths = []
    for covariates in (None, "before"):
        bounds = of_variant(
            judged(frame, goals={"bought": Converted(covariates=covariates)})
        ).compared.absolute_difference_interval
        assert bounds is not None
        assert bounds.low is not None
        assert bounds.high is not None
        assert bounds.low < 0 < bounds.high
        widths.append(bounds.high - bounds.low)
    # Accounts differ in their rates alone, which the covariate tells almost exactly.
    assert widths[1] < 0.5 * widths[0]


def test_a_covariate_is_adjusted_as_in_a_regression_of_clusters() -> None:
    """The difference is that of the residuals of y - R x by the pooled slope on the covariate's sums."""
    frame = accounts(60, 9).with_columns(before=pl.when(pl.col("views") > 1).then("before"))
    found = of_variant(judged(frame, goals={"bought": Converted(covariates="before")}))
    centred = frame.with_columns(z=(pl.col("before") - pl.col("before").mean()).fill_null(0.0))
    sums = {
        arm: part
        for (arm,), part in centred.group_by("variant", "account")
        .agg(pl.len().alias("x"), pl.col("bought").sum().cast(pl.Float64).alias("y"), pl.col("z").sum())
        .partition_by("variant", as_dict=True)
        .items()
    }
    ratio = {arm: part["y"].to_numpy().sum() / part["x"].to_numpy().sum() for arm, part in sums.items()}
    linear = {
        arm: ((part["y"] - ratio[arm] * part["x"]) / part["x"].to_numpy().mean()).to_numpy()
        for arm, part in sums.items()
    }
    z = {arm: part["z"].to_numpy() for arm, part in sums.items()}
    slope = sum(np.dot(z[arm] - z[arm].mean(), linear[arm]) for arm in z) / sum(
        ((z[arm] - z[arm].mean()) ** 2).sum() for arm in z
    )
    expected = ratio["B"] - ratio["A"] - slope * (z["B"].mean() - z["A"].mean())
    assert found.compared.absolute_difference == pytest.approx(expected, rel=1e-9)


def test_a_posterior_of_clusters_is_the_normal_one_of_the_ratio() -> None:
    frame = accounts(60, 2, lift=0.5)
    found = of_variant(judged(frame, analysis_method="bayesian"))
    (x_c, y_c), (x_t, y_t) = (sums := sums_of(frame, "bought", pl.len()))["A"], sums["B"]
    both = (y_c.sum() + y_t.sum()) / (x_c.sum() + x_t.sum())
    error = np.sqrt(sum(np.var((y - both * x) / x.mean(), ddof=1) / len(x) for x, y in sums.values()))
    z = (y_t.sum() / x_t.sum() - y_c.sum() / x_c.sum()) / error
    assert found.chance_to_beat == pytest.approx(scipy.stats.norm.cdf(z), rel=1e-9)


def test_a_lazy_table_is_fetched() -> None:
    frame = accounts(40, 5)
    assert of_variant(judged(duckdb.sql("SELECT * FROM frame"))) == of_variant(judged(frame))


def test_a_funnel_is_compared_by_cluster() -> None:
    frame = accounts(40, 5).with_columns(seen=pl.lit(value=True))
    found = of_variant(judged(frame, goals={"done": Funnel("seen", "bought")}))
    assert found.p_value == pytest.approx(of_variant(judged(frame)).p_value, rel=1e-9)
    assert found.details.steps is not None
