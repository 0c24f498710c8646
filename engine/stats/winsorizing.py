"""Winsorizing: caps at a percentile."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True)
class Winsorized:
    """Moments per arm of values capped at `cap`, which is None without values above 0.

    `capped` is the number of visitors above the cap; `removed` is the share of the arm's total that was cut.
    """

    moments: Moments
    cap: float | None
    capped: FloatArray
    removed: FloatArray


def winsorize(arms: Sequence[npt.ArrayLike], percentile: float) -> Winsorized:
    """Cap the values per visitor of all arms at the `percentile` (0 to 100) of those above 0 of all arms.

    One cap for all arms, blind to the assignment, keeps an A/A test valid: Kohavi, Tang and Xu
    (2020), "Trustworthy Online Controlled Experiments", chapter 22. Zeros do not count, or a shop with few
    buyers would have a cap of 0. The percentile is the smallest value with at least that share at or below
    it, an observed one (Hyndman and Fan (1996), American Statistician 50, definition 1), so cents stay
    whole. The estimand is the difference of capped means.
    """
    if not 0 < percentile <= 100:
        raise ValueError(f"percentile is above 0 and at most 100; got {percentile}")
    values = [np.asarray(arm, np.float64) for arm in arms]
    cap = cap_of(np.concatenate(values) if values else np.zeros(0), percentile)
    cut = [arm if cap is None else np.minimum(arm, cap) for arm in values]
    before, after = (np.array([arm.sum() for arm in each]) for each in (values, cut))
    lost = before - after
    return Winsorized(
        moments=Moments.stack([Moments.of(arm) for arm in cut]),
        cap=cap,
        capped=np.array([(arm > np.inf if cap is None else arm > cap).sum() for arm in values], np.float64),
        removed=np.divide(lost, before, out=np.zeros_like(lost), where=before > 0),
    )


def cap_of(values: FloatArray, percentile: float) -> float | None:
    """Find the cap of `winsorize`: the percentile of the values above 0; None without any."""
    positive = values[values > 0]
    if not positive.size:
        return None
    place = place_of_cap(positive.size, percentile)
    return float(np.partition(positive, place)[place])


def place_of_cap(values: int, percentile: float) -> int:
    """Find the place of the cap among so many sorted values above 0, counted from 0."""
    return min(max(math.ceil(values * (percentile / 100.0) - 1.0), 0), values - 1)
