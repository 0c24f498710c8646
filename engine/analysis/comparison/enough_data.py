"""Enough data: the visitors and conversions that a decision needs."""

import numpy as np

from engine.stats.arrays import BoolArray, FloatArray, IntArray

# Below this many visitors in an arm, one conversion more moves its rate by over a percentage point.
MIN_VISITORS = 100
# Four conversions can't reach 95% even if all are in one of two equal arms (p = 1/16); five can (1/32).
MIN_CONVERSIONS = 5
# Welch's test of revenue relies on the central limit theorem over paying visitors, few and very unequal.
# So many of two equal arms; of unequal ones more (`imbalance_factor`).
MIN_PAYING_VISITORS = 30
# With so many clusters in each arm, simulated A/A tests err in 5% or less: with lognormal sizes of deviation
# 0.8 and 1.5, in arms of one size and at 9:1 (and see `comparable.LARGEST_CLUSTER`).
MIN_CLUSTERS = 10
# The least share of visitors in one of two arms that the imbalance is computed for.
_LEAST_SHARE = 1e-6


def has_enough(  # noqa: PLR0913  # counts and what they are of
    visitors: IntArray,
    conversions: IntArray,
    by_mean: BoolArray,
    control: int,
    *,
    is_bayesian: bool = False,
    in_clusters: bool = False,
) -> BoolArray:
    """Flag where both arms have the known outcomes, and together the conversions, that a decision needs.

    Of any number of segments: `visitors` with a known outcome (…, G, V), `conversions` (…, G, V), `by_mean`
    (G). Both count clusters where those were assigned.
    """
    together = conversions + conversions[..., [control]]
    fewest = np.minimum(visitors, visitors[..., [control]])
    needed = conversions_needed(visitors, by_mean, control, is_bayesian=is_bayesian, in_clusters=in_clusters)
    enough: BoolArray = together >= needed
    return enough & (fewest >= (MIN_CLUSTERS if in_clusters else MIN_VISITORS))


def conversions_needed(
    visitors: IntArray,
    by_mean: BoolArray,
    control: int,
    *,
    is_bayesian: bool = False,
    in_clusters: bool = False,
) -> IntArray:
    """Count the conversions a variant and the control need together, (…, G, V): more if unequal.

    `visitors` are (…, G, V), or (V) of all goals. Of means, and of posteriors: a prior adds as many
    conversions to a small arm as to a large one, which favours the small one. They are negligible where
    without any difference the small arm has MIN_CONVERSIONS times the large arm's share of visitors: half
    of them in equal arms, all in the extreme. Of clusters MIN_CLUSTERS in the place of MIN_PAYING_VISITORS.
    """
    visitors = np.atleast_2d(visitors)
    least = MIN_CLUSTERS if in_clusters else MIN_PAYING_VISITORS
    by_means = np.floor(least * imbalance_factor(visitors, control))
    of_shares = np.full(by_means.shape, float(MIN_CONVERSIONS))
    if is_bayesian:
        controls = visitors[..., [control]]
        of_shares *= np.maximum(visitors, controls) / np.maximum(np.minimum(visitors, controls), 1)
    return np.where(by_mean[:, None], by_means, np.floor(of_shares)).astype(np.int64)


def imbalance_factor(visitors: IntArray, control: int) -> FloatArray:
    """Compute how many times the conversions of two equal arms a mean needs in unequal arms, elementwise.

    In two equal arms the skewness of the values cancels. With a share s of the visitors in one of them the
    skewness of their difference is that of N values times λ = (1 - 2s) / sqrt(N s (1 - s)). Hall's
    transformation removes it but for a part that shrinks with λ², so the factor is
    1 + (1 - 2s)² / (2s (1 - s)): with MIN_PAYING_VISITORS times that, simulated A/A tests of lognormal
    orders err in 3.2% at 9:1 and 19:1 and 3.8% at 99:1.
    """
    of_both = np.maximum(visitors + visitors[..., [control]], 1)
    share = np.clip(visitors / of_both, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
    times: FloatArray = 0.5 / (share * (1.0 - share)) - 1.0
    return times * (1.0 + 1e-12)
