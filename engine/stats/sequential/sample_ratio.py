"""Sequential sample-ratio test, valid after every visitor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import BoolArray, FloatArray

# Concentrations of the Dirichlet alternatives around the planned split, in visitors: larger ones detect
# smaller mismatches, later. Mixed in equal parts, half of the tests alarm (p < 0.001) at 92:8 instead of
# 50:50 after 30 visitors, at 60:40 after 460, and with 5%, 2% and 1% of one arm lost after 27,500, 172,000
# and 740,000. 10,000 alone takes 2,040 for 60:40, and 29,500, 158,000 and 670,000 for the losses.
CONCENTRATIONS = (10.0, 100.0, 1_000.0, 10_000.0)


@dataclass(frozen=True, slots=True)
class SplitCheck:
    """Result of a sample-ratio test: `log_p` of an always-valid p; 0 without visitors or with a single arm.

    `stray` where an arm without weight has visitors: a mismatch whatever the p.
    """

    log_p: FloatArray
    stray: BoolArray


def check_split(
    visitors: npt.ArrayLike, weights: npt.ArrayLike, *, concentrations: Sequence[float] = CONCENTRATIONS
) -> SplitCheck:
    """Test counts against weights, arms along the last axis; arms without weight are left out.

    The Bayes factor of a multinomial with Dirichlet(c w) shares against the shares w themselves is, if
    the split is right, a martingale that starts at 1, so that its inverse is a p value at every look:
    Lindon and Malek (2022), "Anytime-valid inference for multinomial count data", NeurIPS 35. The mean of
    such factors over several concentrations is one, too.
    """
    factors = [_log_bayes_factor(visitors, weights, one) for one in concentrations]
    return SplitCheck(_log_p(factors), _strays(visitors, weights))


def check_split_over_epochs(
    visitors: npt.ArrayLike, weights: npt.ArrayLike, *, concentrations: Sequence[float] = CONCENTRATIONS
) -> SplitCheck:
    """Test counts by epoch, each with its own weights; epochs along the second axis from the end.

    The Bayes factors of the epochs multiply, for each concentration, which keeps the martingale.
    """
    factors = [_log_bayes_factor(visitors, weights, one).sum(axis=-1) for one in concentrations]
    return SplitCheck(_log_p(factors), np.asarray(_strays(visitors, weights).any(axis=-1)))


def _log_p(log_factors: Sequence[FloatArray]) -> FloatArray:
    mean = np.logaddexp.reduce(np.stack(log_factors)) - np.log(len(log_factors))
    return np.asarray(np.minimum(-mean, 0.0))


def _strays(visitors: npt.ArrayLike, weights: npt.ArrayLike) -> BoolArray:
    return np.asarray(((np.asarray(visitors) > 0) & ~(np.asarray(weights) > 0)).any(axis=-1))


def _log_bayes_factor(visitors: npt.ArrayLike, weights: npt.ArrayLike, concentration: float) -> FloatArray:
    counts, relative = np.broadcast_arrays(np.asarray(visitors, np.float64), np.asarray(weights, np.float64))
    is_arm = relative > 0
    seen = np.where(is_arm, counts, 0.0)
    sum_of_weights = relative.sum(axis=-1, keepdims=True)
    share = np.divide(relative, sum_of_weights, out=np.ones(relative.shape), where=is_arm)
    prior = concentration * share
    each = np.where(is_arm, _log_rising(prior, seen) - seen * np.log(share), 0.0)
    total = _log_rising(np.asarray(concentration, np.float64), seen.sum(axis=-1))
    return np.asarray(each.sum(axis=-1) - total)


def _log_rising(start: FloatArray, steps: FloatArray) -> FloatArray:
    """Log of start (start + 1) … (start + steps - 1)."""
    return np.asarray(scipy.special.gammaln(start + steps) - scipy.special.gammaln(start))
