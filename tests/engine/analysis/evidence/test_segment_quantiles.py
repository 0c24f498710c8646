import numpy as np

from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.analysis.evidence.segment_quantiles import SegmentQuantiles
from engine.stats.clustered_buckets import ClusteredBuckets


def test_the_rest_of_a_segment_is_all_other_visitors() -> None:
    rng = np.random.default_rng(2)
    who, value = rng.integers(0, 300, 2_000), rng.lognormal(2.0, 1.0, 2_000)
    country = who % 3

    def of(rows: np.ndarray) -> ClusteredBuckets:
        return ClusteredBuckets.of(who[rows], value[rows])

    everyone = of(np.full(2_000, fill_value=True))
    found = SegmentQuantiles(0.9, tuple((of(country == one),) for one in range(2)), (everyone,))
    for one, (here, rest) in enumerate(zip(found.of_segments(), found.of_rest(), strict=True)):
        for evidence, rows in ((here, country == one), (rest, country != one)):
            wanted = QuantileEvidence.of(0.9, [of(rows)])
            assert evidence.visitors == wanted.visitors
            assert evidence.moments().mean == wanted.moments().mean
            assert evidence.arms[0].design_effect == wanted.arms[0].design_effect
    (kept,) = found.of(np.array([1])).of_segments()
    assert kept.visitors == found.of_segments()[1].visitors
