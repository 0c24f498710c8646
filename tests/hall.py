"""Welch's test with Hall's correction, written out from the paper's formula on values."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

# Beyond which skewness the transformation is not taken: 0.8, by simulation (docs/calibration.md).
MOST = 0.8


def hall_p(treatment: npt.ArrayLike, control: npt.ArrayLike) -> float:
    """Two-sided p by SciPy's Welch t of values, transformed as in Hall (1992), JRSS B 54, up to MOST."""
    arms = [np.asarray(arm, np.float64) for arm in (treatment, control)]
    welch = stats.ttest_ind(*arms, equal_var=False)
    t, skewness = float(welch.statistic), min(max(skewness_of_difference(arms), -MOST), MOST)
    g = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    return float(2 * stats.t.sf(abs(g), welch.df))


def skewness_of_difference(arms: Sequence[npt.NDArray[np.float64]]) -> float:
    """λ = m₃ (1/n_t² - 1/n_c²) / (s² (1/n_t + 1/n_c))^1.5 with the moments pooled within arms."""
    n = [arm.size for arm in arms]
    apart = np.concatenate([arm - arm.mean() for arm in arms])
    square, cube = (apart**2).mean(), (apart**3).mean()
    return float(cube * (1 / n[0] ** 2 - 1 / n[1] ** 2) / (square * (1 / n[0] + 1 / n[1])) ** 1.5)
