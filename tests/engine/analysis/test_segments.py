import numpy as np
import pytest
from statsmodels.stats.contingency_tables import Table2x2

from engine.analysis.frequentist import compare_shares
from engine.analysis.moments import Moments
from engine.analysis.segments import (
    SegmentReading,
    lift_of_log_odds,
    log_odds_ratios,
    moments_without,
    read_segments,
    relative_effects,
    tables_without,
)
from engine.analysis.tables import Tables

ALPHA = 0.05


def whole(tables: Tables) -> Tables:
    parts = (tables.control_hits, tables.control_n, tables.hits, tables.n)
    return Tables(*(part.sum(axis=-1, keepdims=True) for part in parts))


def reading_of(tables: Tables) -> SegmentReading:
    return read_segments(
        log_odds_ratios(tables),
        log_odds_ratios(tables_without(tables, whole(tables))),
        compare_shares(tables, ALPHA).log_p,
        alpha=ALPHA,
    )


def test_log_odds_ratio_is_statsmodels_with_a_half_in_each_cell() -> None:
    estimate = log_odds_ratios(Tables.of([30], [400], [50], [380]))
    theirs = Table2x2(np.array([[50.5, 330.5], [30.5, 370.5]]))
    assert estimate.value[0] == pytest.approx(theirs.log_oddsratio)
    assert np.sqrt(estimate.variance[0]) == pytest.approx(theirs.log_oddsratio_se)


def test_nobody_converting_is_an_answer_and_nobody_coming_is_none() -> None:
    estimate = log_odds_ratios(Tables.of([0, 0], [100, 0], [8, 0], [100, 10]))
    assert estimate.defined.tolist() == [True, False]


def test_segments_of_an_a_a_test_are_rarely_called() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(500, 20_000, (1, 12))
    called, differing = [], []
    for _ in range(400):
        tables = Tables.of(rng.binomial(n, 0.05), n, rng.binomial(n, 0.05), n)
        reading = reading_of(tables)
        called.append((reading.log_p < np.log(ALPHA)).any())
        differing.append((reading.log_p_differs < np.log(ALPHA)).any())
    assert np.mean(called) <= 0.07
    assert np.mean(differing) <= 0.07


def test_the_segment_that_differs_is_found_and_the_others_are_not() -> None:
    rng = np.random.default_rng(2)
    n = np.full((1, 6), 20_000)
    rate = np.where(np.arange(6) == 3, 0.04, 0.06)
    reading = reading_of(Tables.of(rng.binomial(n, 0.05), n, rng.binomial(n, rate), n))
    assert reading.log_p_differs[0, 3] < np.log(1e-6)
    assert reading.effects.high[0, 3] < 0 < reading.effects.low[0, [0, 1, 2, 4, 5]].min()


def test_a_lone_lucky_segment_is_drawn_back() -> None:
    # Nine segments without effect and a small tenth that doubled by luck.
    n = np.array([[10_000.0] * 9 + [100.0]])
    control, hits = n * 0.05, n * 0.05
    hits[0, 9] = 10.0
    effects = reading_of(Tables.of(control, n, hits, n)).effects
    assert lift_of_log_odds(effects.mean, control / n)[0, 9] < 0.10


def test_everything_is_judged_in_one_call() -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(100, 1_000, (4, 3, 2, 9))
    reading = reading_of(Tables.of(rng.binomial(n, 0.1), n, rng.binomial(n, 0.1), n))
    assert reading.log_p.shape == reading.effects.mean.shape == (4, 3, 2, 9)


def test_revenue_effects_are_in_shares_of_the_overall_mean() -> None:
    control, variant = (
        Moments.of(np.array([[100.0, 200.0, 300.0]])),
        Moments.of(np.array([[150.0, 250.0, 350.0]])),
    )
    effect = relative_effects(control, variant, base=np.array([200.0]))
    assert effect.value[0] == pytest.approx(0.25)
    # Welch's variance 2 · 10,000 / 3 over 200².
    assert effect.variance[0] == pytest.approx(20_000 / 3 / 40_000)
    assert not relative_effects(control, variant, base=np.zeros(1)).defined.any()


def test_taking_a_part_away_undoes_merging_it() -> None:
    rng = np.random.default_rng(4)
    part, rest = Moments.of(rng.normal(1e7, 3, (5, 40))), Moments.of(rng.normal(1e7 + 2, 1, (5, 60)))
    left = moments_without(part, part.merge(rest))
    np.testing.assert_allclose(left.mean, rest.mean, rtol=1e-12)
    np.testing.assert_allclose(left.m2, rest.m2, rtol=1e-6)
    nobody = moments_without(rest, rest)
    assert nobody.n.sum() == nobody.m2.sum() == 0


def test_a_log_odds_ratio_means_the_lift_that_made_it() -> None:
    # 5% to 6%: log odds ratio log(0.06/0.94 · 0.95/0.05).
    ratio = np.array([np.log(0.06 / 0.94 * 0.95 / 0.05)])
    assert lift_of_log_odds(ratio, np.array([0.05]))[0] == pytest.approx(0.2)
    assert np.isnan(lift_of_log_odds(ratio, np.array([0.0])))[0]
