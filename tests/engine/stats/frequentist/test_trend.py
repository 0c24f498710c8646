import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm

from engine.stats.contingency import Tables
from engine.stats.frequentist.trend import effect_by_day

DAYS = 14


def followed(effects: npt.ArrayLike, seed: int, *, visitors: int = 20_000, cells: int = 1) -> Tables:
    """Visitors followed for fourteen days; `effects` are the variant's log odds ratios by day."""
    rng = np.random.default_rng(seed)
    odds = 0.01 * np.exp(np.broadcast_to(np.asarray(effects, np.float64), (DAYS,)))
    columns: list[npt.ArrayLike] = []
    for daily in (np.full(DAYS, 0.01), odds):
        left, at_risk, hits = np.full(cells, visitors), [], []
        for day in range(DAYS):
            at_risk.append(left)
            hits.append(rng.binomial(left, daily[day] / (1 + daily[day])))
            left = left - hits[-1]
        columns += [np.array(hits), np.array(at_risk)]
    return Tables.of(*columns)


def test_trend_is_that_of_a_logistic_regression() -> None:
    tables = followed(np.linspace(0.4, 0.1, DAYS), seed=1)
    hits = np.concatenate([tables.control_hits[:, 0], tables.hits[:, 0]])
    n = np.concatenate([tables.control_n[:, 0], tables.n[:, 0]])
    treated, day = np.repeat([0.0, 1.0], DAYS), np.tile(np.arange(DAYS), 2)
    dummies = (day[:, None] == np.arange(DAYS)).astype(float)
    model = sm.GLM(
        np.column_stack([hits, n - hits]),
        np.column_stack([dummies, treated, treated * np.log1p(day)]),
        family=sm.families.Binomial(),
    ).fit()
    result = effect_by_day(tables)
    at_first, slope = model.params[DAYS], model.params[DAYS + 1]
    assert result.first[0] == pytest.approx(at_first, abs=0.01)
    assert result.last[0] == pytest.approx(at_first + slope * np.log1p(DAYS - 1), abs=0.01)
    assert np.exp(result.log_p[0]) == pytest.approx(model.pvalues[DAYS + 1], rel=0.05)


def test_common_odds_ratio_is_statsmodels_mantel_haenszel() -> None:
    tables = followed(0.2, seed=2)
    strata = np.stack(
        [
            [tables.hits[:, 0], (tables.n - tables.hits)[:, 0]],
            [tables.control_hits[:, 0], (tables.control_n - tables.control_hits)[:, 0]],
        ]
    )
    theirs = sm.stats.StratifiedTable(strata).logodds_pooled
    assert effect_by_day(tables).common[0] == pytest.approx(theirs)


@pytest.mark.parametrize("visitors", [2_000, 20_000])
def test_a_lasting_effect_is_called_novel_as_rarely_as_promised(visitors: int) -> None:
    result = effect_by_day(followed(0.3, seed=3, visitors=visitors, cells=3_000))
    assert (result.log_p < np.log(0.05)).mean() == pytest.approx(0.05, abs=0.012)


def test_an_effect_that_wears_off_fades_and_one_that_builds_up_grows() -> None:
    fading = effect_by_day(followed(0.8 * np.exp(-np.arange(DAYS) / 3), seed=4))
    growing = effect_by_day(followed(np.linspace(0.05, 0.6, DAYS), seed=5))
    assert fading.fades(0.01).all()
    assert not fading.grows(0.01).any()
    assert growing.grows(0.01).all()
    assert not growing.fades(0.01).any()


def test_no_conversions_and_a_single_day_show_no_trend() -> None:
    nothing = effect_by_day(
        Tables.of(np.zeros((3, 1)), np.full((3, 1), 10), np.zeros((3, 1)), np.full((3, 1), 10))
    )
    one_day = effect_by_day(Tables.of([[5]], [[100]], [[8]], [[100]]))
    for result in (nothing, one_day):
        assert not result.defined.any()
        assert not result.fades(0.5).any()
        assert np.isnan(result.log_p).all()
