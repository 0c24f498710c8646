"""Evidence of interactions: tests whose effects depend on a variant of another test."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.design.experiment import Experiment
from engine.stats.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSums:
    """Sums of the primary goal of `experiment` over the visitors who are in `other`, too.

    Each is of variants by variants of the other: the visitors `n` with a known outcome, those of them with a
    value (`valued`), their values `y` and squares `yy`; of a ratio the denominators `d` with `dd` and `dy`.
    """

    experiment: Experiment
    other: Experiment
    n: FloatArray
    valued: FloatArray
    y: FloatArray
    yy: FloatArray
    d: FloatArray | None = None
    dd: FloatArray | None = None
    dy: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """An effect of a test on its primary goal that another test's variant changes.

    `visitors` are those of the four cells. `alone` and `together` are the relative changes, as shares, by
    `variant` beside the other's control and beside `other_variant`; None where the control has no mean above
    0. `q_value` is the false discovery rate over all pairs of the night at which it is found.
    """

    test_id: str
    test: str
    goal: str
    variant: str
    other_id: str
    other: str
    other_variant: str
    visitors: int
    alone: float | None
    together: float | None
    q_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionEvidence:
    """Interactions of an experiment, as looked for in the night of `day`.

    `compared` are the names of the tests with enough visitors in both, and `left_out` those that cannot be
    compared, by name, with the reason. `unavailable` is the reason why this experiment cannot be.
    """

    day: str
    compared: tuple[str, ...] = ()
    found: tuple[Interaction, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    unavailable: str | None = None
