"""The models that are sampled have the densities that they say, by SciPy's distributions."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from engine.stats.arrays import FloatArray
from engine.stats.bayesian.sampler_process import build_model

SPREAD_OF_DENSITIES = 0.5
POINTS = (
    {
        "spread": 0.2,
        "rough_centre": 0.5,
        "own": np.array([0.1, -0.3, 1.0]),
        "scaled": np.array([0.3, 0.1, 2.0]),
    },
    {
        "spread": 0.7,
        "rough_centre": -1.0,
        "own": np.array([2.0, 0.0, -0.5]),
        "scaled": np.array([-1.0, 0.5, 1]),
    },
)


def log_density_of(data: dict[str, Any], *, of_shares: bool) -> Callable[[dict[str, Any]], float]:
    """The log density of the model of one family, by Python: two points are not worth a compiler."""
    model = build_model(import_module("pymc"), data)
    density = model.compile_logp(mode=import_module("pytensor.compile.mode").Mode("py", None))

    def at(point: dict[str, Any]) -> float:
        named = {
            "spread_log__": np.log([point["spread"]]),
            "from_rough_centre": np.array([point["rough_centre"]]),
            "from_rough_effect": point["own"],
        }
        return float(density(named | ({"base": point["scaled"]} if of_shares else {})))

    return at


def effects_at(
    point: dict[str, Any], value: FloatArray, variance: FloatArray
) -> tuple[float, FloatArray, float]:
    """The centre and the effects of a point, and the log density of the spread and of what is sampled."""
    spread = point["spread"]
    total = variance + spread**2
    information = (1 / total).sum()
    centre = (value / total).sum() / information + point["rough_centre"] / np.sqrt(information)
    apart = spread * (value - centre) / total + np.sqrt(variance / total) * point["own"]
    density = (
        stats.halfnorm.logpdf(spread, scale=SPREAD_OF_DENSITIES)
        + np.sum(stats.norm.logpdf(apart))
        # Of centre and a by what is sampled, and of the spread by its logarithm.
        - 0.5 * (np.log(total).sum() + np.log(information))
        + np.log(spread)
    )
    return float(centre), centre + spread * apart, float(density)


def test_the_model_of_effects_has_the_density_that_it_says() -> None:
    """The log density of the model, as it differs between two points, by SciPy's normal densities."""
    value, error = np.array([0.3, -0.1, 0.05]), np.array([0.1, 0.05, 0.2])
    data = {
        "family": np.zeros(3, np.int64),
        "rough": value,
        "rough_variance": error**2,
        "error": error,
        "spread_scale": np.array(SPREAD_OF_DENSITIES),
    }

    def ours(point: dict[str, Any]) -> float:
        _, effect, density = effects_at(point, value, error**2)
        return density + float(np.sum(stats.norm.logpdf(value, effect, error)))

    theirs = log_density_of(data, of_shares=False)
    apart = ours(POINTS[0]) - ours(POINTS[1])
    assert theirs(POINTS[0]) - theirs(POINTS[1]) == pytest.approx(apart, rel=1e-9)


def test_the_model_of_shares_has_the_density_that_it_says() -> None:
    """The same with conversions of both arms, by SciPy's binomial distribution."""
    value, error = np.array([0.3, -0.1, 0.05]), np.array([0.1, 0.05, 0.2])
    start, unit, base_deviation, centre_deviation = (
        np.array([-2.0, -1.0, 0.5]),
        np.array([0.2, 0.1, 0.3]),
        5.0,
        1.5,
    )
    hits, n, control_hits, control_n = (
        np.array(one) for one in ([4, 0, 9], [30, 20, 25], [2, 3, 7], [40, 10, 25])
    )
    data = {
        "family": np.zeros(3, np.int64),
        "rough": value,
        "rough_variance": error**2,
        "spread_scale": np.array(SPREAD_OF_DENSITIES),
        "centre_deviation": np.array(centre_deviation),
        "base_start": start,
        "base_unit": unit,
        "base_deviation": np.array(base_deviation),
        "hits": hits,
        "n": n,
        "control_hits": control_hits,
        "control_n": control_n,
    }

    def ours(point: dict[str, Any]) -> float:
        centre, effect, density = effects_at(point, value, error**2)
        base = start + unit * point["scaled"]
        control = base - n / (n + control_n) * effect
        return float(
            density
            + stats.norm.logpdf(centre, scale=centre_deviation)
            + np.sum(stats.norm.logpdf(base, scale=base_deviation))
            + np.sum(stats.binom.logpmf(hits, n, special.expit(control + effect)))
            + np.sum(stats.binom.logpmf(control_hits, control_n, special.expit(control)))
        )

    theirs = log_density_of(data, of_shares=True)
    apart = ours(POINTS[0]) - ours(POINTS[1])
    assert theirs(POINTS[0]) - theirs(POINTS[1]) == pytest.approx(apart, rel=1e-9)
