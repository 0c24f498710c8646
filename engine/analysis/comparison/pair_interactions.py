"""Interactions between tests that run at once, with the false discovery rate of all pairs controlled."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.analysis.evidence.interactions import Interaction, PairSums
from engine.design.experiment import Experiment
from engine.stats.arrays import AnyArray, FloatArray
from engine.stats.delta_method import linearize
from engine.stats.estimates import Estimate
from engine.stats.frequentist.difference_of_differences import difference_of_differences
from engine.stats.frequentist.multiple_testing import benjamini_hochberg
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from engine.stats.sequential.confidence_sequence import FEWEST_CONVERSIONS

# The share of false ones among the interactions that are reported.
FALSE_DISCOVERY_RATE: Final = 0.05


@dataclass(frozen=True, slots=True)
class _Pair:
    sums: PairSums
    means: FloatArray
    log_p: FloatArray


def find_interactions(pairs: Iterable[PairSums]) -> list[Interaction]:
    """Find the effects that depend on a variant of another test, at most one a pair and goal.

    Every comparison of a variant and another test's variant with both controls is one hypothesis of the
    family, by p values that hold at every look, so that looking each night does not add false ones.
    """
    compared = [_compare(sums) for sums in pairs]
    log_q = benjamini_hochberg(np.concatenate([np.empty(0), *(one.log_p.ravel() for one in compared)]))
    ends = np.cumsum([one.log_p.size for one in compared])
    return list(_found(compared, np.split(log_q, ends[:-1]) if compared else []))


def is_comparable(sums: PairSums) -> bool:
    """Tell whether some variant and another test's variant have enough visitors to be compared."""
    return bool(np.isfinite(_compare(sums).log_p).any())


def _found(compared: Sequence[_Pair], log_q: Sequence[FloatArray]) -> Iterator[Interaction]:
    for pair, adjusted in zip(compared, log_q, strict=True):
        known = np.where(np.isnan(adjusted), 0.0, adjusted)
        best = int(known.argmin())
        if known[best] <= np.log(FALSE_DISCOVERY_RATE):
            row, column = divmod(best, pair.log_p.shape[1])
            yield _interaction(pair, row, column, float(np.exp(known[best])))


def _compare(sums: PairSums) -> _Pair:
    estimates = Estimate.of(_moments(sums))
    # A cell with few of them has no normal mean, and the difference is not defined.
    enough = sums.valued >= FEWEST_CONVERSIONS
    cells = Estimate(
        np.where(enough, estimates.value, np.nan), np.where(enough, estimates.variance, np.nan), estimates.n
    )
    change = difference_of_differences(
        cells, control=_control(sums.experiment), other_control=_control(sums.other)
    )
    return _Pair(sums, estimates.value, change.log_p)


def _moments(sums: PairSums) -> Moments:
    n, y, yy = (_whole(part) for part in (sums.n, sums.y, sums.yy))
    if sums.d is None or sums.dd is None or sums.dy is None:
        return Moments.of_sums(n, y, yy)
    d, dd, dy = (_whole(part) for part in (sums.d, sums.dd, sums.dy))
    return linearize(PairedMoments.of_sums(n, x=d, y=y, xx=dd, yy=yy, xy=dy))


def _whole(sums: FloatArray) -> AnyArray:
    """Return sums of whole numbers as Python's integers, whose products do not overflow."""
    return np.array([int(one) for one in sums.ravel()], object).reshape(sums.shape)


def _control(experiment: Experiment) -> int:
    return next(place for place, one in enumerate(experiment.variants) if one.is_control)


def _interaction(pair: _Pair, row: int, column: int, q_value: float) -> Interaction:
    sums, control, other_control = pair.sums, _control(pair.sums.experiment), _control(pair.sums.other)
    goal = sums.experiment.primary_goal
    if goal is None:
        raise ValueError(f"{sums.experiment.id} has no primary goal")
    cells = np.ix_([control, row], [other_control, column])
    return Interaction(
        test_id=sums.experiment.id,
        test=sums.experiment.name,
        goal=goal.name,
        variant=sums.experiment.variants[row].name,
        other_id=sums.other.id,
        other=sums.other.name,
        other_variant=sums.other.variants[column].name,
        visitors=int(sums.n[cells].sum()),
        alone=_relative(pair.means[row, other_control], pair.means[control, other_control]),
        together=_relative(pair.means[row, column], pair.means[control, column]),
        q_value=q_value,
    )


def _relative(mean: float, control: float) -> float | None:
    return float(mean / control - 1.0) if control > 0 else None
