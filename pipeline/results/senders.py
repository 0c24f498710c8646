"""Evidence of senders: extremes of an experiment's visitors by the kind of sender of their events."""

from typing import Final

import polars as pl

from engine.analysis.evidence.senders import AddressCount, Overdrawn, PeakMinute, SenderEvidence
from engine.design.experiment import Experiment
from pipeline.results.evidence import positions
from pipeline.rollup.goals.summed_goals import money_goals
from pipeline.store.warehouse.events import SENDER_BITS
from pipeline.store.warehouse.extremes import ADDRESSES, HIGHEST, OVERDRAWN, SENDERS, read_peaks
from pipeline.store.warehouse.late_visits import read_late_visits
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import read_dropped
from pipeline.store.warehouse.selected_visitors import SelectedVisitors

_CELL: Final = ("goal", "variant")
_TOTALS: Final = pl.col("size", "value").sum()


def read_senders(
    visitors: SelectedVisitors, experiment: Experiment, published: Published, kept: pl.DataFrame
) -> SenderEvidence | None:
    """Read the evidence of senders; None where an earlier version counted the visitors without them.

    `kept` are the extremes.
    """
    if "exposure_sender" not in visitors.columns:
        return None
    peaks = read_peaks(visitors.cursor, experiment.id)
    places = _Places(experiment, published)
    money = kept.filter(pl.col("goal").is_in(list(money_goals(experiment, published.goals))))
    overdrawn = money.filter(pl.col("kind") == OVERDRAWN).group_by(*_CELL, "senders")
    largest = money.filter((pl.col("kind") == HIGHEST) & (pl.col("value") > 0))
    first = pl.col("senders").sort_by("size", "key", descending=[True, False]).first()
    addresses = kept.filter(pl.col("kind") == ADDRESSES).sort("size", "key", descending=[True, False])
    busiest = addresses.head(1).select("senders", "size").rows()
    late = read_late_visits(visitors.cursor, experiment.id)
    dropped, key = read_dropped(visitors.cursor, experiment.project_id) or (0, None)
    return SenderEvidence(
        visitors={sender_names(bits): total for bits, _, total, _ in peaks},
        busiest_address=(
            AddressCount(sender_names(busiest[0][0]), busiest[0][1] // SENDERS) if busiest else None
        ),
        peaks=tuple(
            PeakMinute(sender_names(bits), most, total / minutes, minutes)
            for bits, most, total, minutes in peaks
        ),
        overdrawn=tuple(
            Overdrawn(*place, sender_names(bits), number, cents)
            for *cell, bits, number, cents in overdrawn.agg(_TOTALS).sort(pl.all()).rows()
            if number and (place := places.of(*cell))
        ),
        largest={
            place: sender_names(bits)
            for *cell, bits in largest.group_by(_CELL).agg(first).sort(_CELL).rows()
            if (place := places.of(*cell))
        },
        late_visits=late.number,
        last_late_day=late.last_day,
        dropped_attributes=dropped,
        dropped_key=key,
    )


def sender_names(bits: int) -> str:
    """Name the senders of SENDER_BITS, such as `browser and server`."""
    return " and ".join(name for name, bit in SENDER_BITS.items() if bits & bit)


class _Places:
    """Positions of goals and variants in the experiment, by those in the tables."""

    def __init__(self, experiment: Experiment, published: Published) -> None:
        self._goals = positions(published.goals, [goal.id for goal in experiment.goals])
        self._variants = positions(published.variants, [one.id for one in experiment.variants])

    def of(self, goal: int, variant: int) -> tuple[int, int] | None:
        """Return the positions of goal and variant; None where the experiment no longer has them."""
        own_goal, own_variant = self._goals.get(goal), self._variants.get(variant)
        return None if own_goal is None or own_variant is None else (own_goal, own_variant)
