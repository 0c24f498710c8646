"""Rows that store an `init`: new assignments, or else the visitor's attributes where these are news."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from engine.design.experiment import Experiment
from engine.design.holdout import HoldoutPlace
from engine.design.units import is_clustered
from pipeline.assignment.decide import VariantDecision
from pipeline.assignment.first_assignments import KnownAssignments
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.assignment.unit_keys import unit_of_row
from pipeline.events.attributes import segments_of
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import HEADER_BITS, EventRow, Sender
from pipeline.store.warehouse.event_reader import SEGMENT_COLUMNS

ASSIGNMENT: Final = "assignment"
# An `init` that assigned no variant, whose attributes may belong to a later exposure.
INIT: Final = "init"
# Beyond this many visitors, those whose last `init` is longest ago are forgotten, and stored once more.
MAX_VISITORS: Final = 50_000


@dataclass(slots=True)
class StoredVisits:
    """Digests of what was stored last of recent visitors, so that an `init` without news stores nothing."""

    _digests: OrderedDict[tuple[str, int], int] = field(default_factory=OrderedDict)

    def holds(self, project_id: str, row: EventRow) -> bool:
        """Return whether the attributes and the user id of the row are the last ones stored."""
        return self._digests.get((project_id, row.visitor_key)) == _digest(row)

    def add(self, project_id: str, row: EventRow) -> None:
        """Remember a stored row."""
        key = (project_id, row.visitor_key)
        self._digests[key] = _digest(row)
        self._digests.move_to_end(key)
        if len(self._digests) > MAX_VISITORS:
            self._digests.popitem(last=False)


def visit_row(
    visitor: Visitor, received_us: int, sender: Sender, address_key: int | None = None
) -> EventRow | None:
    """Build the event of an `init`, with its attributes as segments; None for a bot."""
    is_user = visitor.user_id is not None
    segments = segments_of(visitor.attributes, visitor.url, visitor.client, is_user=is_user)
    if segments.is_bot:
        return None
    event_id = f"{INIT}:{visitor.visitor_id}:{received_us}"
    return EventRow(
        received_at=received_us,
        occurred_at=received_us,
        event_id=event_id,
        event_key=hash64(event_id),
        type=INIT,
        visitor_id=visitor.visitor_id,
        visitor_key=hash64(visitor.visitor_id),
        user_id=visitor.user_id,
        user_key=None if visitor.user_id is None else hash64(visitor.user_id),
        url=visitor.url,
        sender=sender,
        address_key=address_key,
        **segments.columns(),
    )


def assignment_rows(
    visit: EventRow, decisions: Iterable[VariantDecision], known: KnownAssignments
) -> list[EventRow]:
    """Build the events that store new assignments; a visitor counts only from the first exposure on.

    Those that the visitor has from another one of its user are stored too, so that they stay without the
    user id.
    """
    rows: list[EventRow] = []
    for decision in decisions:
        is_inherited = decision.status == "existing" and decision.experiment.id in known.inherited
        if decision.variant is not None and (decision.status == "new" or is_inherited):
            # The same id for simultaneous requests of a visitor, so that they count as one event.
            event_id = ":".join([ASSIGNMENT, decision.experiment.id, *_ids(decision.experiment, visit)])
            rows.append(
                visit._replace(
                    type=ASSIGNMENT,
                    event_id=event_id,
                    event_key=hash64(event_id),
                    experiment_id=decision.experiment.id,
                    variant_id=decision.variant.id,
                )
            )
    return rows


def holdout_exposure(visit: EventRow, place: HoldoutPlace) -> EventRow | None:
    """Build the one exposure of a visitor to a holdout; None where it is stored, or there is no variant."""
    if place.is_known or place.variant is None:
        return None
    # The same id for simultaneous requests of a visitor, so that they count as one event.
    event_id = f"holdout:{place.holdout.id}:{visit.visitor_id}"
    return visit._replace(
        type="exposure",
        event_id=event_id,
        event_key=hash64(event_id),
        experiment_id=place.holdout.id,
        variant_id=place.variant.id,
    )


def _ids(experiment: Experiment, visit: EventRow) -> list[str]:
    """List the ids of who is assigned: a visitor may sign in as several users."""
    ids = [visit.visitor_id]
    if is_clustered(experiment.unit):
        ids.append(unit_of_row(experiment.unit, visit))
    return [one for one in ids if one is not None]


def has_news(visit: EventRow) -> bool:
    """Return whether an `init` says anything that the request headers of an exposure do not say as well."""
    headers = visit.header_fields or 0
    return visit.visitor_identity == "identified" or any(
        getattr(visit, name) is not None
        for name in SEGMENT_COLUMNS
        if name != "visitor_identity" and not headers & HEADER_BITS.get(name, 0)
    )


def _digest(row: EventRow) -> int:
    return hash((row.user_key, *(getattr(row, name) for name in SEGMENT_COLUMNS)))
