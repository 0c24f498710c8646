"""Skewness of differences of means, and Hall's transformation that removes it from t."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import ArrayRecord, FloatArray
from engine.stats.moments import Moments

# Hall's transformation is an expansion in the skewness of the difference, and adds too much where that is
# large: docs/calibration.md has the wins of A/A tests without this limit and with it ("What measures show").
# Where the skewness is mostly below, as of usual orders, hardly anything changes.
LARGEST_SKEWNESS: Final = 0.8


@dataclass(frozen=True, slots=True)
class PooledCumulants(ArrayRecord):
    """Second and third cumulants of the means of a control and a variant, elementwise over one shape.

    Both arms' are from the moments within arms, pooled over both: one arm alone may have too few values
    above 0 to show its skewness. 0 where an arm has fewer than two visitors.
    """

    control_variance: FloatArray
    variance: FloatArray
    control_third: FloatArray
    third: FloatArray

    @classmethod
    def of(cls, control: Moments, variant: Moments) -> "PooledCumulants":
        """Pool the moments of both arms: s²/n and μ₃/n² of each, s² = sum of m2 / N, μ₃ = sum of m3 / N."""
        n = control.n + variant.n
        known = (control.n > 1) & (variant.n > 1)
        both = np.maximum(n, 1.0)
        square = np.where(known, (control.m2 + variant.m2) / both, 0.0)
        # No sample of N values has a skewness beyond sqrt(N); rounding of values that hardly vary may.
        most = np.sqrt(both) * square * np.sqrt(square)
        cube = np.clip(np.where(known, (control.m3 + variant.m3) / both, 0.0), -most, most)
        control_n, variant_n = np.maximum(control.n, 1.0), np.maximum(variant.n, 1.0)
        return cls(square / control_n, square / variant_n, cube / control_n**2, cube / variant_n**2)

    def averaged(self, weights: FloatArray) -> "PooledCumulants":
        """Return those of the means over strata along the first axis, averaged with `weights`."""
        squares, cubes = weights**2, weights**3
        return PooledCumulants(
            (squares * self.control_variance).sum(axis=0),
            (squares * self.variance).sum(axis=0),
            (cubes * self.control_third).sum(axis=0),
            (cubes * self.third).sum(axis=0),
        )

    def skewness(self, kept: npt.ArrayLike = 1.0) -> FloatArray:
        """Compute the skewness of the variant's mean less `kept` times the control's; 0 if nothing varies.

        λ = (κ₃ of the variant - kept³ κ₃ of the control) / (variance + kept² · the control's)^1.5; where
        `kept` is 1, λ = μ₃ (1/n_t² - 1/n_c²) / (s² (1/n_t + 1/n_c))^1.5: 0 between arms of one size. Larger
        ones count as LARGEST_SKEWNESS.
        """
        share = np.asarray(kept, np.float64)
        variance = self.variance + share**2 * self.control_variance
        third = self.third - share**3 * self.control_third
        scale = variance * np.sqrt(variance)
        skewness = np.divide(third, scale, out=np.zeros_like(scale), where=scale > 0)
        return np.clip(skewness, -LARGEST_SKEWNESS, LARGEST_SKEWNESS)


def remove_skewness(t: FloatArray, skewness: npt.ArrayLike) -> FloatArray:
    """Transform a studentized mean of that `skewness` λ so that it is nearly Student's: g(t).

    g = t + λt²/3 + λ²t³/27 + λ/6 = ((1 + λt/3)³ - 1)/λ + λ/6, which rises with t, and is t where λ is 0:
    Hall (1992), "On the removal of skewness by transformation", JRSS B 54.
    """
    third = np.asarray(skewness, np.float64)
    inner = 1.0 + third * t / 3.0
    return np.asarray(t * ((1.0 + inner + inner * inner) / 3.0) + third / 6.0)


def restore_skewness(g: FloatArray, skewness: npt.ArrayLike) -> FloatArray:
    """Invert `remove_skewness`: the t of which it makes g; infinite where g is."""
    third = np.asarray(skewness, np.float64)
    is_infinite = np.isinf(g)
    apart = np.where(is_infinite, 0.0, g) - third / 6.0
    root = np.cbrt(1.0 + third * apart)
    # (root - 1) · 3/λ, in the form that does not divide by λ.
    return np.where(is_infinite, g, apart * (3.0 / (1.0 + root + root * root)))
