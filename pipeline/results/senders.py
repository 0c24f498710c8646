"""Evidence of senders: extremes of an experiment's visitors by the kind of sender of their events."""

from engine.analysis.evidence.senders import AddressCount, Overdrawn, PeakMinute, SenderEvidence
from engine.design.experiment import Experiment
from pipeline.results.evidence import positions
from pipeline.store.warehouse.events import SENDER_BITS
from pipeline.store.warehouse.late_visits import read_late_visits
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import read_dropped
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.visitor_totals import (
    Extreme,
    count_by_sender,
    read_largest,
    read_overdrawn,
)


def read_senders(
    visitors: SelectedVisitors, experiment: Experiment, published: Published
) -> SenderEvidence | None:
    """Read the evidence of senders; None where an earlier version counted the visitors without them."""
    if "exposure_sender" not in visitors.columns:
        return None
    cursor = visitors.cursor
    # The time of the last exposure cannot be foretold, and stays while nothing is counted.
    counts = count_by_sender(cursor, experiment.id, seed=published.last_exposed_at or 0)
    goals = [
        published.goals.index(goal.id)
        for goal in experiment.goals
        if goal.unit == "cents" and goal.id in published.goals
    ]
    variants = len(published.variants)
    places = _Places(experiment, published)
    overdrawn = read_overdrawn(cursor, experiment.id, goals, variants=variants)
    largest = read_largest(cursor, experiment.id, goals, variants=variants)
    late = read_late_visits(cursor, experiment.id)
    dropped, key = read_dropped(cursor, experiment.project_id) or (0, None)
    return SenderEvidence(
        visitors={sender_names(bits): round(number) for bits, number in counts.visitors.items()},
        busiest_address=(
            AddressCount(sender_names(counts.busiest[0]), round(counts.busiest[1]))
            if counts.busiest
            else None
        ),
        peaks=tuple(
            PeakMinute(sender_names(bits), round(most), total / minutes, minutes)
            for bits, (most, total, minutes) in counts.peaks.items()
        ),
        overdrawn=tuple(
            Overdrawn(*place, sender_names(one.senders), one.visitors, one.cents)
            for one in overdrawn
            if (place := places.of(one))
        ),
        largest={
            place: sender_names(one.senders) for one in largest if one.cents > 0 and (place := places.of(one))
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

    def of(self, extreme: Extreme) -> tuple[int, int] | None:
        """Return the positions of goal and variant; None where the experiment no longer has them."""
        goal, variant = self._goals.get(extreme.goal), self._variants.get(extreme.variant)
        return None if goal is None or variant is None else (goal, variant)
