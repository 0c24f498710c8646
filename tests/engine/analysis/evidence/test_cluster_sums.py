"""The measured design effect and correlation are those of the visitors that were drawn."""

import numpy as np
import pytest

from engine.analysis.evidence.cluster_sums import ClusterSums, design_effect_of
from engine.design.planning.sample_size import design_effect
from engine.stats.arrays import FloatArray


def sums_of(sizes: FloatArray, bought: FloatArray) -> ClusterSums:
    return ClusterSums(
        n=sizes,
        x=sizes,
        y=bought,
        z=None,
        xx=float(sizes.sum()),
        xy=float(bought.sum()),
        yy=float(bought.sum()),
    )


def test_the_correlation_is_that_of_visitors_of_one_cluster() -> None:
    rng = np.random.default_rng(5)
    arms = []
    for _ in range(2):
        sizes = np.ceil(40 * rng.lognormal(-0.32, 0.8, 4_000))
        # Beta (0.9, 8.1) rates: a correlation of 1 / (0.9 + 8.1 + 1).
        arms.append(sums_of(sizes, rng.binomial(sizes.astype(int), rng.beta(0.9, 8.1, 4_000)).astype(float)))
    effect, correlation = design_effect_of(arms)
    assert correlation == pytest.approx(0.1, abs=0.01)
    sizes = np.concatenate([arm.n for arm in arms])
    assert effect == pytest.approx(design_effect(sizes.mean(), correlation, sizes.std() / sizes.mean()))


def test_visitors_alone_have_no_design_effect() -> None:
    rng = np.random.default_rng(6)
    sizes = np.full(5_000, 8.0)
    effect, correlation = design_effect_of(
        [sums_of(sizes, rng.binomial(8, 0.2, 5_000).astype(float)) for _ in range(2)]
    )
    assert effect == pytest.approx(1.0, abs=0.03)
    assert correlation == pytest.approx(0.0, abs=0.005)
    alone = [sums_of(np.ones(9), (np.arange(9) % 2).astype(float)) for _ in range(2)]
    assert design_effect_of(alone)[0] == pytest.approx(1.0)
    assert np.isnan(design_effect_of(alone)[1])
    assert np.isnan(design_effect_of([sums_of(np.ones(1), np.ones(1))])).all()
