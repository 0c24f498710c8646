"""Places of visitors in the holdouts of a project: by the hash, or by what the service knows."""

from collections.abc import Mapping
from typing import Final

from engine.design.experiment import Experiment
from engine.design.holdout import SEEN_BEFORE, HoldoutPlace, place_in
from pipeline.assignment.targeting_attributes import Visitor
from truelift.client.decisions import DecidedVariants

UNKNOWN: Final = "the service has not told whether the visitor is held out"


class HoldoutPlaces:
    """Places of visitors, each remembered beside what was decided for the visitor."""

    def __init__(self, decided: DecidedVariants) -> None:
        """Remember places in `decided`."""
        self._decided = decided

    def find(self, holdout: Experiment, visitor: Visitor) -> HoldoutPlace | None:
        """Find the place of a visitor; None where the service has to be asked for it.

        It alone knows who was seen before, and the other visitors of a user. Where the hash tells that the
        visitor is not held out, nothing is asked: the service leaves exposures of those seen before out.
        """
        known = self._decided.of_visitor(holdout.id, visitor.visitor_id, visitor.visitor_id)
        if known is not None:
            return place_in(holdout, visitor.visitor_id, known.variant_id)
        place = place_in(holdout, visitor.visitor_id, None)
        if place.is_held or visitor.user_id is not None or place.variant is None:
            return None
        self._hold(holdout, visitor, place.variant.id)
        return place

    def hold(self, holdout: Experiment, visitor: Visitor, answers: Mapping[str, str]) -> None:
        """Remember what the service has told; nothing where its answer is of no holdout."""
        if (told := answers.get(holdout.id)) is not None:
            self._hold(holdout, visitor, told)

    def take_exposure(self, place: HoldoutPlace, visitor: Visitor) -> str | None:
        """Return the variant of an exposure that is due, and note it; None where none is."""
        known = self._decided.of_visitor(place.holdout.id, visitor.visitor_id, visitor.visitor_id)
        if place.variant is None or known is None or known.is_exposed:
            return None
        known.is_exposed = True
        return place.variant.id

    def _hold(self, holdout: Experiment, visitor: Visitor, variant_id: str) -> None:
        self._decided.hold(holdout.id, visitor.visitor_id, None, variant_id)


def told_place(variant_id: str | None) -> str:
    """Return what an answer's variant stands for: without one, the visitor was seen before."""
    return SEEN_BEFORE if variant_id is None else variant_id
