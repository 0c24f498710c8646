"""Visitors of an experiment day by day: as events for a store, and as cumulative evidence counted by hand."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.local_days import epoch_microseconds
from engine.stats.moments import Moments
from pipeline.store.event_columns import EventRow
from tests.builders import STARTED, a_goal
from tests.observations import observed
from tests.pipeline.working_store import a_purchase, an_exposure

DAY = timedelta(days=1)
# Judged in this order: conversions, and what the same purchases were worth.
GOALS: tuple[Goal, Goal] = (
    a_goal(id="bought"),
    a_goal(id="spent", name="Revenue", goal_type="revenue", is_primary=False),
)


@dataclass(slots=True)
class SimulatedDays:
    """An experiment with two variants and GOALS; `rates` of conversion, and orders of $5 to $15.

    Every order is by a visitor of its own. The state is what has arrived so far.
    """

    experiment: Experiment
    rates: tuple[float, float]
    seed: int = 0
    variant: dict[str, int] = field(default_factory=dict)
    cents: dict[str, int] = field(default_factory=dict)
    _random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def arrive(self, day: int, *, visitors: int = 60, received: datetime | None = None) -> Iterator[EventRow]:
        """Let visitors arrive on a day, half of them in each variant, and some of them buy."""
        for number in range(visitors):
            at = STARTED + day * DAY + timedelta(minutes=10 + number)
            visitor, shown = f"{day}-{number}", number % 2
            self.variant[visitor] = shown
            times = _times(at, received)
            yield an_exposure(self.experiment, shown, visitor, **times)
            if self._random.random() < self.rates[shown]:
                yield self.buy(visitor, at=at + timedelta(minutes=1), received=received)

    def buy(self, visitor: str, *, at: datetime, received: datetime | None = None) -> EventRow:
        """Let a visitor buy for the first time."""
        cents = int(self._random.integers(500, 1500))
        self.cents[visitor] = cents
        return a_purchase(visitor, cents=cents, **_times(at, received))

    def refund(self, visitor: str, *, at: datetime) -> EventRow:
        """Refund the order of a visitor, who still counts as converted."""
        cents, self.cents[visitor] = self.cents[visitor], 0
        return a_purchase(visitor, cents=cents, is_refund=True, **_times(at, at))

    def among(self, shown: int, *, bought: bool) -> list[str]:
        """List the visitors of a variant who bought, or who did not, in the order of their arrival."""
        return [
            one for one, variant in self.variant.items() if variant == shown and (one in self.cents) == bought
        ]

    def evidence(self, *, now: datetime) -> Evidence:
        """Count by hand all that arrived so far."""
        spent = [[float(self.cents.get(one, 0)) for one in self._shown(shown)] for shown in (0, 1)]
        arms = [Moments.of(cents) for cents in spent]
        parts = ([getattr(arm, part) for arm in arms] for part in ("n", "mean", "m2", "m3"))
        moments = Moments(*(np.array([part] * len(GOALS)) for part in parts))
        conversions = [len(self.among(shown, bought=True)) for shown in (0, 1)]
        visitors = [len(cents) for cents in spent]
        return observed(visitors, [conversions] * len(GOALS), cents=moments, as_of=now, last_exposure_at=now)

    def _shown(self, shown: int) -> list[str]:
        return [one for one, variant in self.variant.items() if variant == shown]


def _times(at: datetime, received: datetime | None) -> dict[str, int]:
    return {"occurred_at": epoch_microseconds(at), "received_at": epoch_microseconds(received or at)}
