"""Always-valid boundary: critical values and p values of the asymptotic confidence sequence."""

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray

# Larger statistics, whose squares would overflow, are clipped to this one.
_LARGEST_Z = 1e150


def tuning(alpha: npt.ArrayLike) -> FloatArray:
    """Compute the mixture variance, per planned sample, that makes the interval tightest at its end.

    Minimises (x + 1)/x · log((x + 1)/alpha²), which gives x = -W₋₁(-alpha²/e) - 1 (Lambert's W):
    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), "Time-uniform central limit theory and
    asymptotic confidence sequences", Annals of Statistics 52, appendix B.2.
    """
    level = np.asarray(alpha, np.float64)
    return np.asarray(-scipy.special.lambertw(-(level**2) / np.e, -1).real - 1.0)


def critical_value(fraction: npt.ArrayLike, alpha: npt.ArrayLike) -> FloatArray:
    """Compute the standard errors on either side of the estimate that cover the truth at all looks at once.

    `fraction` is observed over planned visitors and may exceed 1; infinite at 0. With x = tuning ·
    fraction it is sqrt((x + 1)/x · log((x + 1)/alpha²)): Waudby-Smith et al. (2024), theorem 2.2, with
    their t rho² written as x.
    """
    level = np.asarray(alpha, np.float64)
    x = tuning(level) * np.asarray(fraction, np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt((1.0 + 1.0 / x) * (np.log1p(x) - 2.0 * np.log(level))))


def log_p_value(z: npt.ArrayLike, fraction: npt.ArrayLike, alpha: npt.ArrayLike) -> FloatArray:
    """Compute the log of the always-valid two-sided p: the smallest level whose interval excludes 0.

    p = min(1, sqrt(x + 1) · exp(-z²/2 · x/(x + 1))), the inverse of the mixture likelihood ratio of
    Robbins (1970), Annals of Mathematical Statistics 41. Below log(alpha) exactly where |z| exceeds
    `critical_value(fraction, alpha)`; `alpha` only tunes it.
    """
    x = tuning(alpha) * np.asarray(fraction, np.float64)
    square = np.square(np.clip(z, -_LARGEST_Z, _LARGEST_Z))
    return np.asarray(np.minimum(0.0, 0.5 * np.log1p(x) - 0.5 * square * (x / (1.0 + x))))
