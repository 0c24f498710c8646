"""The sampled model against the closed form, exact sums and known truth.

Compiling a model takes far longer than sampling it, so many families are sampled in one go.
"""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from engine.errors import InvalidEvidenceError, NotConvergedError
from engine.stats.arrays import FloatArray
from engine.stats.bayesian.hierarchical import (
    BASE_DEVIATION,
    CENTRE_DEVIATION,
    Diagnostics,
    Sampled,
    sample_effects,
    sample_shares,
)
from engine.stats.bayesian.sampling import Sampler, Sampling
from engine.stats.bayesian.shrinkage import SPREAD_SCALE, shrink
from engine.stats.contingency import Tables, log_odds_ratios
from engine.stats.estimates import Estimate

WIDTH = 8
# Rubin (1981), the eight schools, in twentieths of a point.
SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]) / 20.0
SCHOOL_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]) / 20.0
TRUE_CENTRE, TRUE_SPREAD, TRUE_BASE = 0.1, 0.3, -2.5


def family(value: npt.ArrayLike, error: npt.ArrayLike) -> tuple[FloatArray, ...]:
    """Values and errors with gaps after them."""
    pair = np.full((2, WIDTH), np.nan)
    for row, given in zip(pair, np.broadcast_arrays(value, error), strict=True):
        row[: len(given)] = given
    return tuple(pair)


def effects() -> Estimate:
    """Families that differ much or little, known well or hardly at all, and one that is none."""
    rng = np.random.default_rng(3)
    families = [
        family(SCHOOLS, SCHOOL_ERRORS),
        family([-0.5, 0.0, 0.5], 0.001),
        family([0.3, -0.1, 0.05], [0.1, 0.05, 0.2]),
        family([0.4], 0.1),
        family(rng.normal(0.05, 0.05, 8), rng.uniform(0.02, 0.3, 8)),
        family(rng.normal(0.0, 0.02, 8), 0.02),
    ]
    value, error = (np.array(part) for part in zip(*families, strict=True))
    return Estimate(value, error**2, np.full(value.shape, 100.0))


def tables() -> tuple[Tables, FloatArray]:
    """Twenty families of known truth: of many visitors the first ten, of few the others; and the truth."""
    rng = np.random.default_rng(5)
    truth = rng.normal(TRUE_CENTRE, TRUE_SPREAD, (20, WIDTH))
    n = np.where(np.arange(20)[:, None] < 10, 40_000, rng.integers(20, 80, (20, WIDTH)))
    control, variant = special.expit(TRUE_BASE), special.expit(TRUE_BASE + truth)
    return Tables.of(rng.binomial(n, control), n, rng.binomial(n, variant), n), truth


def rare_tables() -> Tables:
    """Three families of two segments with next to no conversions, also none in an arm or in both."""
    return Tables.of(
        [[0, 2], [4, 0], [1, 3]],
        [[30, 40], [50, 20], [90, 25]],
        [[5, 3], [6, 0], [2, 0]],
        [[30, 35], [50, 20], [10, 25]],
    )


def all_tables() -> Tables:
    """Both, the rare ones with segments of nobody after them."""

    rare = rare_tables().map(lambda counts: np.pad(counts, ((0, 0), (0, WIDTH - 2))))
    return Tables.concatenate([tables()[0], rare])


@pytest.mark.slow
@pytest.mark.long(seconds=60)
@pytest.mark.parametrize("sampler", ["nutpie", "pymc"])
def test_normal_effects_are_those_of_the_closed_form(sampler: Sampler) -> None:
    sampled = sample_effects(effects(), sampling=Sampling(sampler=sampler))
    assert_converged(sampled.diagnostics, sampler)
    closed, found = shrink(effects()), sampled.effects
    here = closed.defined
    np.testing.assert_array_equal(found.defined, here)
    np.testing.assert_array_equal(np.isnan(found.mean), ~here)
    errors = ((found.mean - closed.mean) / sampled.error)[here]
    # 35 effects, those of one family together: none beyond 4 standard errors, their squares about 1.
    assert np.abs(errors).max() < 4.0
    assert (errors**2).mean() < 2.0
    np.testing.assert_allclose(found.deviation[here], closed.deviation[here], rtol=0.05)
    np.testing.assert_allclose(found.chance[here], closed.chance[here], atol=0.02)
    # 3,000 draws know the ends of an interval to a twentieth of a deviation, a tenth in heavy tails.
    for end in ("low", "high"):
        apart = (getattr(found, end) - getattr(closed, end)) / closed.deviation
        assert np.abs(apart[here]).max() < 0.25
        assert np.abs(apart[here]).mean() < 0.06
    np.testing.assert_allclose(found.spread, closed.spread, rtol=0.05)
    np.testing.assert_allclose(found.centre, closed.centre, atol=0.02)
    assert np.isnan(found.centre).tolist() == [False, False, False, True, False, False]


def assert_converged(how: Diagnostics, sampler: Sampler) -> None:
    assert how.r_hat < 1.01
    assert 1_000 < how.tail_size < how.bulk_size
    assert how.divergences <= 8
    assert (how.sampler, how.draws, how.chains, how.seed) == (sampler, 2_000, 4, 1)
    assert not how.reasons


@pytest.mark.slow
@pytest.mark.long(seconds=65)
def test_shares_are_those_of_the_closed_form_of_exact_sums_and_of_the_truth() -> None:
    shares = sample_shares(all_tables(), sampling=Sampling(seed=7))
    assert_many_visitors_are_as_in_the_closed_form(shares)
    assert_the_truth_is_held(shares)
    assert_few_conversions_are_read_exactly(shares)


def assert_many_visitors_are_as_in_the_closed_form(shares: Sampled) -> None:
    closed = shrink(log_odds_ratios(tables()[0]))
    many, found = slice(0, 10), shares.effects
    apart = (found.mean[many] - closed.mean[many]) / closed.deviation[many]
    assert np.abs(apart).max() < 0.15
    np.testing.assert_allclose(found.deviation[many], closed.deviation[many], rtol=0.08)
    np.testing.assert_allclose(found.spread[many], closed.spread[many], rtol=0.08)


def assert_the_truth_is_held(shares: Sampled) -> None:
    _, truth = tables()
    held = (shares.effects.low[:20] < truth) & (truth < shares.effects.high[:20])
    # 80 intervals of 95%: 0.95 give or take 0.024, and families go together.
    assert held[:10].mean() == pytest.approx(0.95, abs=0.06)
    assert held[10:].mean() > 0.9
    centre_held = (shares.centre.low[:20] < TRUE_CENTRE) & (shares.centre.high[:20] > TRUE_CENTRE)
    assert centre_held.mean() >= 0.8
    np.testing.assert_allclose(shares.spread.mean[:10].mean(), TRUE_SPREAD, rtol=0.15)


def exact_mean(one: Tables) -> FloatArray:
    """Posterior means of two segments by brute force: a sum over bases, effects, centre and spread."""
    base = np.linspace(-12.0, 6.0, 361)
    effect = np.linspace(-6.0, 6.0, 241)
    share = one.n / (one.n + one.control_n)
    counts = zip(one.hits, one.n, one.control_hits, one.control_n, share, strict=True)
    fits = []
    for hits, n, control_hits, control_n, part in counts:
        up = base[:, None] + (1 - part) * effect
        down = base[:, None] - part * effect
        log_fit = hits * up - n * np.logaddexp(0, up) + control_hits * down
        log_fit = log_fit - control_n * np.logaddexp(0, down) - 0.5 * (base[:, None] / BASE_DEVIATION) ** 2
        fits.append(special.logsumexp(log_fit, axis=0))
    centre, spread = np.linspace(-6.0, 6.0, 121), np.linspace(0.01, 3.0, 120)
    prior = np.exp(-0.5 * ((effect - centre[:, None]) / spread[:, None, None]) ** 2) / spread[:, None, None]
    fit = np.exp(np.array(fits) - np.max(fits, axis=1, keepdims=True))
    # (spread, centre) of each segment: how well it fits there, and its mean times that.
    each = np.einsum("sce,ie->isc", prior, fit)
    mean = np.einsum("sce,ie->isc", prior, fit * effect) / each
    weight = each.prod(axis=0) * np.exp(
        -0.5 * ((centre / CENTRE_DEVIATION) ** 2 + (spread[:, None] / SPREAD_SCALE) ** 2)
    )
    return np.asarray((mean * weight).sum(axis=(1, 2)) / weight.sum())


def assert_few_conversions_are_read_exactly(shares: Sampled) -> None:
    closed = shrink(log_odds_ratios(rare_tables()))
    exact = np.array(
        [exact_mean(rare_tables()[np.repeat(np.arange(3)[:, None] == row, 2, axis=1)]) for row in range(3)]
    )
    sampled, error = shares.effects.mean[-3:, :2], shares.error[-3:, :2]
    assert np.abs((sampled - exact) / error).max() < 4.5
    assert np.abs(closed.mean - exact).max() > 4 * np.abs(sampled - exact).max()


@pytest.mark.slow
@pytest.mark.long(seconds=80)
def test_the_same_seed_gives_the_same_answer() -> None:
    one, again = (sample_effects(effects(), sampling=Sampling(sampler="nutpie")) for _ in range(2))
    np.testing.assert_array_equal(one.effects.mean, again.effects.mean)
    np.testing.assert_array_equal(one.spread.high, again.spread.high)
    assert one.diagnostics == again.diagnostics


@pytest.mark.slow
@pytest.mark.long(seconds=12)
def test_few_conversions_are_read_exactly_where_the_closed_form_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What is compiled runs for a second: it is not worth optimizing.
    monkeypatch.setenv("NUMBA_OPT", "0")
    assert_few_conversions_are_read_exactly(
        sample_shares(rare_tables(), sampling=Sampling(draws=1_500, warmup=700, seed=7))
    )


@pytest.mark.slow
@pytest.mark.long(seconds=20)
def test_too_few_draws_are_an_error_that_says_what_to_do() -> None:
    with pytest.raises(NotConvergedError, match=r"worth \d+ independent ones.*Sample more") as caught:
        sample_effects(effects(), sampling=Sampling(draws=20, warmup=20))
    assert caught.value.reasons


def test_what_is_wrong_with_the_draws_is_named() -> None:
    fine = Diagnostics(
        r_hat=1.003,
        bulk_size=900,
        tail_size=500,
        divergences=8,
        draws=2_000,
        chains=4,
        seed=1,
        sampler="pymc",
    )
    assert not fine.reasons
    assert replace(fine, r_hat=1.02).reasons == ("R-hat is 1.020, above 1.01",)
    assert replace(fine, tail_size=399).reasons == (
        "the draws are worth 900 independent ones in the bulk and 399 in the tails, fewer than 400",
    )
    assert replace(fine, divergences=9).reasons == ("9 of 8000 draws diverged, more than 0.1%",)
    # Chains that never moved.
    assert len(replace(fine, r_hat=np.nan, bulk_size=np.nan).reasons) == 2


@pytest.mark.parametrize(
    "nothing",
    [
        Estimate(np.zeros(0), np.zeros(0), np.zeros(0)),
        Estimate(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))),
        Estimate(np.array([0.1]), np.array([0.01]), np.array([9.0])),
        Estimate(np.array([0.1, np.nan]), np.array([0.01, np.nan]), np.array([9.0, 0.0])),
        Estimate(np.array([0.1, 0.2]), np.array([0.01, 0.0]), np.array([9.0, 9.0])),
        Estimate(np.array([0.1, np.inf]), np.array([0.01, 0.01]), np.array([9.0, 9.0])),
    ],
)
def test_what_cannot_be_pooled_is_an_error_before_any_sampling(nothing: Estimate) -> None:
    with pytest.raises(InvalidEvidenceError, match="nothing to pool"):
        sample_effects(nothing)


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="nothing to pool"):
        sample_shares(Tables.of([1, 0], [10, 0], [1, 0], [10, 0]))
    with pytest.raises(InvalidEvidenceError, match="whole numbers"):
        sample_shares(Tables.of([1.5, 1], [10, 10], [1, 1], [10, 10]))
    with pytest.raises(InvalidEvidenceError, match="between 0 and the visitors"):
        sample_shares(Tables.of([np.nan, 1], [10, 10], [1, 1], [10, 10]))


def test_importing_the_model_imports_no_sampler() -> None:
    code = (
        "import sys; import engine.stats.bayesian.hierarchical, engine.stats.bayesian.sampler_process; "
        "print(sorted({'pymc', 'nutpie', 'arviz', 'pytensor', 'numba', 'scipy.stats'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
