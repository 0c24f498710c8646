"""Sequential sample-ratio test, valid after every visitor."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.stats.arrays import BoolArray, FloatArray

# Concentration of the Dirichlet alternative around the planned split, in visitors: larger values detect
# smaller mismatches, later.
CONCENTRATION = 10_000.0


@dataclass(frozen=True, slots=True)
class SplitCheck:
    """Result of a sample-ratio test: `log_p` of an always-valid p; 0 without visitors or with a single arm.

    `stray` where an arm without weight has visitors: a mismatch whatever the p.
    """

    log_p: FloatArray
    stray: BoolArray


def check_split(
    visitors: npt.ArrayLike, weights: npt.ArrayLike, *, concentration: float = CONCENTRATION
) -> SplitCheck:
    """Test counts against weights, arms along the last axis; arms without weight are left out.

    The Bayes factor of a multinomial with Dirichlet(c w) shares against the shares w themselves is, if
    the split is right, a martingale that starts at 1, so that its inverse is a p value at every look:
    Lindon and Malek (2022), "Anytime-valid inference for multinomial count data", NeurIPS 35.
    """
    log_factor, stray = _log_bayes_factor(visitors, weights, concentration)
    return SplitCheck(np.minimum(-log_factor, 0.0), stray)


def check_split_over_epochs(
    visitors: npt.ArrayLike, weights: npt.ArrayLike, *, concentration: float = CONCENTRATION
) -> SplitCheck:
    """Test counts by epoch, each with its own weights; epochs along the second axis from the end.

    The Bayes factors of the epochs multiply, which keeps the martingale.
    """
    log_factor, stray = _log_bayes_factor(visitors, weights, concentration)
    return SplitCheck(np.minimum(-log_factor.sum(axis=-1), 0.0), np.asarray(stray.any(axis=-1)))


def _log_bayes_factor(
    visitors: npt.ArrayLike, weights: npt.ArrayLike, concentration: float
) -> tuple[FloatArray, BoolArray]:
    counts, relative = np.broadcast_arrays(np.asarray(visitors, np.float64), np.asarray(weights, np.float64))
    is_arm = relative > 0
    stray = ((counts > 0) & ~is_arm).any(axis=-1)
    seen = np.where(is_arm, counts, 0.0)
    sum_of_weights = relative.sum(axis=-1, keepdims=True)
    share = np.divide(relative, sum_of_weights, out=np.ones(relative.shape), where=is_arm)
    prior = concentration * share
    each = np.where(is_arm, _log_rising(prior, seen) - seen * np.log(share), 0.0)
    total = _log_rising(np.asarray(concentration, np.float64), seen.sum(axis=-1))
    return np.asarray(each.sum(axis=-1) - total), np.asarray(stray)


def _log_rising(start: FloatArray, steps: FloatArray) -> FloatArray:
    """Log of start (start + 1) … (start + steps - 1)."""
    return np.asarray(special.gammaln(start + steps) - special.gammaln(start))
