from importlib import import_module
from typing import Any

import numpy as np
import pytest

from engine.stats.arrays import FloatArray
from engine.stats.bayesian.convergence import bulk_size, error_of_mean, r_hat, tail_size


def chains_of(phi: float, *, seed: int = 1) -> FloatArray:
    """Four chains of 1,000 draws, each draw `phi` times the one before plus noise."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((4, 1_100))
    chains = np.zeros_like(noise)
    for draw in range(1, 1_100):
        chains[:, draw] = phi * chains[:, draw - 1] + noise[:, draw]
    return chains[:, 100:]


def test_independent_draws_are_worth_themselves_and_agree() -> None:
    chains = np.random.default_rng(2).standard_normal((4, 1_000, 200))
    assert bulk_size(chains).mean() == pytest.approx(4_000, rel=0.02)
    assert r_hat(chains).max() < 1.01
    assert error_of_mean(chains).mean() == pytest.approx(1 / np.sqrt(4_000), rel=0.02)


@pytest.mark.parametrize("phi", [0.9, 0.5, -0.5])
def test_chains_that_remember_are_worth_what_their_autocorrelation_says(phi: float) -> None:
    # Of an autoregression of order 1: n (1 - phi) / (1 + phi).
    chains = np.stack([chains_of(phi, seed=seed) for seed in range(40)], axis=-1)
    # The estimate itself errs by some percent of each, and sums of autocorrelations are cut short.
    assert bulk_size(chains).mean() == pytest.approx(4_000 * (1 - phi) / (1 + phi), rel=0.08)
    deviation = chains.mean(axis=(0, 1)).std()
    assert error_of_mean(chains).mean() == pytest.approx(deviation, rel=0.3)


def test_chains_in_different_places_or_of_different_widths_do_not_agree() -> None:
    chains = np.random.default_rng(3).standard_normal((4, 1_000))
    shifted = chains + np.array([0.0, 0.0, 0.0, 1.0])[:, None]
    wider = chains * np.array([1.0, 1.0, 1.0, 3.0])[:, None]
    drifting = chains + np.linspace(0.0, 1.0, 1_000)
    for wrong in (shifted, wider, drifting):
        assert r_hat(wrong[..., None])[0] > 1.02
    assert tail_size(wider[..., None])[0] < 400 < bulk_size(wider[..., None])[0]


def test_heavy_tails_hide_nothing() -> None:
    chains = np.random.default_rng(4).standard_cauchy((4, 1_000))
    assert r_hat(chains[..., None])[0] < 1.01
    assert r_hat((chains + np.array([0.0, 0.0, 0.0, 1.0])[:, None])[..., None])[0] > 1.02


def test_what_never_moved_has_not_converged() -> None:
    assert np.isnan(r_hat(np.ones((4, 100, 1)))).all()
    assert np.isnan(bulk_size(np.ones((4, 100, 1)))).all()


@pytest.mark.long(seconds=9)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_all_are_those_of_arviz() -> None:
    # Imported here, since its import warns; it has no types.
    arviz: Any = import_module("arviz")
    rng = np.random.default_rng(5)
    cases = [chains_of(phi) for phi in (0.0, 0.5, 0.9, -0.5, -0.9)]
    cases += [rng.standard_cauchy((4, 1_000)), np.round(chains_of(0.5), 1), chains_of(0.3)[:, :101]]
    assert len(cases) == 8
    for case in cases:
        each = case[..., None]
        assert r_hat(each)[0] == pytest.approx(float(arviz.rhat(case)), rel=1e-9)
        assert bulk_size(each)[0] == pytest.approx(float(arviz.ess(case, method="bulk")), rel=0.01)
        assert tail_size(each)[0] == pytest.approx(float(arviz.ess(case, method="tail")), rel=0.01)
        assert error_of_mean(each)[0] == pytest.approx(
            float(arviz.mcse(case, method="mean").item()), rel=0.01
        )
