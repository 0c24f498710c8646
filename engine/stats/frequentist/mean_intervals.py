"""Intervals of a mean and of the difference of two means."""

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.skewness import restore_skewness


def mean_interval(mean: Estimate, alpha: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Compute Student's interval of a mean at two-sided `alpha`, in the metric's unit.

    Mean ± t · standard error with n - 1 degrees of freedom. NaN where no value differs from another, or
    with fewer than two visitors.
    """
    known = mean.defined & (mean.variance > 0)
    error = np.sqrt(np.where(known, mean.variance, np.nan))
    df = np.where(known, mean.n - 1.0, 1.0)
    reach = scipy.special.stdtrit(df, 1.0 - np.asarray(alpha, np.float64) / 2.0) * error
    return mean.value - reach, mean.value + reach


def mean_difference_interval(
    control: Estimate, treatment: Estimate, alpha: npt.ArrayLike, skewness: npt.ArrayLike = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Compute Welch's interval of treatment - control at two-sided `alpha`, in the metric's unit.

    With the critical values of `two_sample.compare_means` at this `skewness` of the difference, so that it
    leaves out 0 exactly where that test is significant: Welch (1947), Biometrika 34; Hall (1992), JRSS B
    54. NaN where there is no test.
    """
    change = treatment.minus(control)
    known = change.defined & (change.variance > 0)
    part = np.divide(treatment.variance, change.variance, out=np.full(known.shape, 0.5), where=known)
    n, control_n = np.where(known, treatment.n, 2.0), np.where(known, control.n, 2.0)
    df = 1.0 / (part**2 / (n - 1.0) + (1.0 - part) ** 2 / (control_n - 1.0))
    error = np.sqrt(np.where(known, change.variance, np.nan))
    critical = scipy.special.stdtrit(df, 1.0 - np.asarray(alpha, np.float64) / 2.0)
    low = change.value - restore_skewness(critical, skewness) * error
    return low, change.value - restore_skewness(-critical, skewness) * error
