"""Evidence of senders: extremes of an experiment's visitors by the kind of sender of their events."""

from typing import Final

import polars as pl

from engine.analysis.evidence.senders import AddressCount, Overdrawn, PeakMinute, SenderEvidence
from engine.design.experiment import Experiment
from pipeline.results.evidence import align_to
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
    # Those of addresses are of no goal.
    of_goals = kept.filter(pl.col("kind").is_in([OVERDRAWN, HIGHEST]))
    aligned = align_to(experiment, of_goals, variants=published.variants, goals=published.goals)
    is_money = pl.col("goal").is_in([row for row, one in enumerate(experiment.goals) if one.unit == "cents"])
    money = aligned.filter(is_money & (pl.col("variant") < len(experiment.variants)))
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
            Overdrawn(goal, variant, sender_names(bits), number, cents)
            for goal, variant, bits, number, cents in overdrawn.agg(_TOTALS).sort(pl.all()).rows()
            if number
        ),
        largest={
            (goal, variant): sender_names(bits)
            for goal, variant, bits in largest.group_by(_CELL).agg(first).sort(_CELL).rows()
        },
        late_visits=late.number,
        last_late_day=late.last_day,
        dropped_attributes=dropped,
        dropped_key=key,
    )


def sender_names(bits: int) -> str:
    """Name the senders of SENDER_BITS, such as `browser and server`."""
    return " and ".join(name for name, bit in SENDER_BITS.items() if bits & bit)
