"""Sequential binomial test of the split of few conversions between two arms, valid at every look."""

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray

# Concentration of the Beta alternative around the expected split, in conversions: with few conversions only
# splits far from the expected one can be detected.
CONCENTRATION = 2.0


def log_p_split(
    control_hits: npt.ArrayLike,
    control_n: npt.ArrayLike,
    hits: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    ratio: npt.ArrayLike = 1.0,
) -> FloatArray:
    """Compute the always-valid log p of the variant's rate being `ratio` times the control's.

    Given their number, the conversions are then split as the visitors, the variant's weighted by `ratio`.
    The Bayes factor of a binomial with a Beta(c w) share against the share w itself is a martingale that
    starts at 1, so that its inverse is a p value at every look: Lindon and Malek (2022), "Anytime-valid
    inference for multinomial count data", NeurIPS 35, with two arms. 0 without conversions or visitors.
    """
    first, second = np.asarray(control_hits, np.float64), np.asarray(hits, np.float64)
    weight = np.asarray(ratio, np.float64) * np.asarray(n, np.float64)
    both = weight + np.asarray(control_n, np.float64)
    share = np.divide(weight, both, out=np.full(np.shape(both), 0.5), where=both > 0)
    share = np.clip(share, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).eps)
    a, b = CONCENTRATION * share, CONCENTRATION * (1.0 - share)
    alternative = scipy.special.betaln(a + second, b + first) - scipy.special.betaln(a, b)
    expected = second * np.log(share) + first * np.log1p(-share)
    return np.where(both > 0, np.minimum(expected - alternative, 0.0), 0.0)
