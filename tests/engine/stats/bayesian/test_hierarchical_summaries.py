"""What is told of draws, of which the distribution is known, in the places of their segments."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from engine.errors import NotConvergedError
from engine.stats.bayesian import hierarchical
from engine.stats.bayesian.hierarchical import sample_effects, sample_shares
from engine.stats.bayesian.sampling import Sampler, Sampling
from engine.stats.bayesian.shrinkage import Shrunk
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate

MEANS, DEVIATIONS = np.linspace(-0.3, 0.4, 50), np.full(50, 0.2)

ONE_FAMILY = Estimate(np.array([0.1, 0.2, 0.3]), np.full(3, 0.01), np.full(3, 100.0))


@pytest.fixture
def drawn_without_a_model(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Independent normal draws of what is asked for; returns the data of each request."""
    requests = list[dict[str, Any]]()

    def draws(data: dict[str, Any], how: Sampling, _: Sampler) -> dict[str, npt.NDArray[Any]]:
        requests.append(data)
        rng, size = np.random.default_rng(how.seed), (how.chains, how.draws)
        effects, families = len(data["family"]), data["family"].max() + 1
        return {
            "effect": rng.normal(MEANS[:effects], DEVIATIONS[:effects], (*size, effects)),
            "centre": rng.normal(0.2, 0.1, (*size, families)),
            "spread": np.abs(rng.normal(0.0, 0.5, (*size, families))),
            "divergences": np.asarray(0),
        }

    monkeypatch.setattr(hierarchical, "draw", draws)
    return requests


def assert_summarized(found: Shrunk, here: tuple[Any, ...]) -> None:
    """Normal draws have the moments, quantiles and chances of their distribution."""
    mean, deviation = MEANS[: found.mean[here].size], DEVIATIONS[: found.mean[here].size]
    np.testing.assert_allclose(found.mean[here].ravel(), mean, atol=0.02)
    np.testing.assert_allclose(found.deviation[here].ravel(), deviation, rtol=0.05)
    half = stats.norm.ppf(0.975) * deviation
    np.testing.assert_allclose(found.low[here].ravel(), mean - half, atol=0.03)
    np.testing.assert_allclose(found.high[here].ravel(), mean + half, atol=0.03)
    np.testing.assert_allclose(found.chance[here].ravel(), stats.norm.cdf(mean / deviation), atol=0.02)


def test_draws_of_shares_are_summarized_in_their_places(drawn_without_a_model: list[dict[str, Any]]) -> None:
    one_family = Tables.of([[4, 0, 9]], [[50, 0, 20]], [[6, 0, 8]], [[50, 0, 20]])
    found = sample_shares(one_family)
    assert found.effects.defined.tolist() == [[True, False, True]]
    assert_summarized(found.effects, (slice(None), [0, 2]))
    assert np.isnan(found.effects.mean[0, 1])
    (data,) = drawn_without_a_model
    sent = {name: data[name].tolist() for name in ("hits", "n", "control_hits", "control_n")}
    assert sent == {"hits": [6, 8], "n": [50, 20], "control_hits": [4, 9], "control_n": [50, 20]}
    # Half of a conversion more in each of two cells: 10.5 of 101, and 17.5 of 41.
    np.testing.assert_allclose(data["base_start"], special.logit([10.5 / 101, 17.5 / 41]))
    np.testing.assert_allclose(data["base_unit"], np.sqrt([1 / 10.5 + 1 / 90.5, 1 / 17.5 + 1 / 23.5]))
    np.testing.assert_allclose(found.error[0, [0, 2]], DEVIATIONS[:2] / np.sqrt(8_000), rtol=0.3)
    assert found.centre.mean == pytest.approx(0.2, abs=0.01)
    assert found.spread.mean == pytest.approx(0.5 * np.sqrt(2 / np.pi), abs=0.02)
    assert found.diagnostics.chains * found.diagnostics.draws == 8_000


def test_draws_of_effects_are_summarized_in_their_families(
    drawn_without_a_model: list[dict[str, Any]],
) -> None:
    value, error = np.array([[0.1, 0.2, np.nan], [0.4, np.nan, np.nan], [0.1, 0.2, 0.3]]), 0.1
    found = sample_effects(Estimate(value, np.full((3, 3), error**2), np.full((3, 3), 100.0)))
    assert found.effects.defined.tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert_summarized(found.effects, (found.effects.defined,))
    (data,) = drawn_without_a_model
    assert data["family"].tolist() == [0, 0, 1, 1, 1]
    assert np.isnan(found.centre.mean).tolist() == [False, True, False]


def test_draws_that_are_too_few_are_refused(drawn_without_a_model: list[dict[str, Any]]) -> None:
    with pytest.raises(NotConvergedError, match="Sample more") as caught:
        sample_effects(ONE_FAMILY, sampling=Sampling(draws=20))
    assert caught.value.reasons
    assert drawn_without_a_model
