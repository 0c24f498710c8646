"""Statistics of one look that the decision rule judges, as arrays."""

from dataclasses import dataclass

import numpy as np

from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LookStatistics(ArrayRecord):
    """Every variant against the control at one look: any leading axes, goals by variants last.

    `z` is that of a single two-sided test, positive where the variant is better. `is_monitored` flags
    comparisons with enough expected conversions for the confidence sequence, `is_enough` those with enough
    data for a single look. `above` and `below` are the z of the two equivalence tests. For guardrails
    `margin_z` is negative where the variant is worse than the margin allows, and `log_p_margin` is the log p,
    valid at every look, of the exact test that judges instead where conversions are few; both are NaN for
    other goals, and `log_p_margin` where conversions are not few. NaN where there is no number.
    """

    z: FloatArray
    is_monitored: BoolArray
    is_enough: BoolArray
    above: FloatArray
    below: FloatArray
    margin_z: FloatArray
    log_p_margin: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Established(ArrayRecord):
    """Findings that are established and kept, in the shape of the look's statistics.

    `wins` and `loses` against the control, `equivalent` within the margin of no relevant difference,
    `broken` guardrails.
    """

    wins: BoolArray
    loses: BoolArray
    equivalent: BoolArray
    broken: BoolArray

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> "Established":
        """Return findings of no look."""
        return cls(**{name: np.zeros(shape, bool) for name in ("wins", "loses", "equivalent", "broken")})

    def also(self, other: "Established") -> "Established":
        """Keep the findings of both."""
        return Established.combine(lambda pair: pair[0] | pair[1], [self, other])
