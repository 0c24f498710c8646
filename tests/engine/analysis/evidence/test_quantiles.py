import numpy as np
import pytest

from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.errors import InvalidEvidenceError
from engine.stats.clustered_buckets import ClusteredBuckets
from engine.stats.frequentist.quantiles import estimate_quantiles


def test_moments_have_the_quantile_and_its_standard_error() -> None:
    rng = np.random.default_rng(1)
    arms = tuple(ClusteredBuckets.of(np.arange(n), rng.poisson(20, n)) for n in (500, 800))
    evidence = QuantileEvidence.of(0.9, arms)
    moments = evidence.moments()
    expected = [estimate_quantiles(arm, 0.9) for arm in evidence.arms]
    assert moments.mean.tolist() == [one.value for one in expected]
    assert moments.variance / moments.n == pytest.approx([float(one.variance) for one in expected])


@pytest.mark.parametrize(("values", "mean"), [([], 0.0), ([3.0], 3.0), ([1.0, 2.0, 5.0], 5.0)])
def test_too_few_visitors_have_a_value_without_an_error(values: list[float], mean: float) -> None:
    moments = QuantileEvidence.of(0.9, (ClusteredBuckets.of(np.arange(len(values)), values),)).moments()
    assert (moments.mean[0], moments.variance[0]) == (mean, 0.0)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(InvalidEvidenceError, match="between 0 and 1"):
        QuantileEvidence(share, ())
