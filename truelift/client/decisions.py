"""Decisions of a client: the variant of a visitor, and what the process has decided before."""

import threading
from collections import OrderedDict
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from engine.design.units import is_clustered
from engine.validation.sent_ids import MAX_ID_LENGTH
from pipeline.assignment.decide import DecisionStatus, VariantDecision

# An experiment, the id of what it assigns, and the visitor.
Place: TypeAlias = tuple[str, str | None, str]
# Where the variant of a unit is remembered for all of its visitors.
_ANY_VISITOR: Final = ""
# Beyond this many such places, those decided longest ago are forgotten.
MAX_DECIDED: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that the variant makes to a page."""

    selector: str
    action: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The variant of a visitor in one experiment; without a variant the visitor sees the original.

    `reason` says why, in words, or is `no_unit`. `redirect_url` is absolute where the page's URL was given.
    `unit_id` is the id that was assigned where that is not the visitor's. `payload` is the variant's, or
    None; `has_payloads` tells whether any variant of the experiment has one.
    """

    test_key: str
    visitor_id: str
    status: DecisionStatus
    reason: str
    experiment_id: str | None = None
    variant: str | None = None
    variant_id: str | None = None
    is_control: bool = True
    changes: tuple[Change, ...] = ()
    redirect_url: str | None = None
    payload: Any = None
    has_payloads: bool = False
    unit_id: str | None = None


@dataclass(slots=True)
class Decided:
    """A variant that was decided, and whether its exposure was recorded."""

    variant_id: str
    is_exposed: bool = False


class DecidedVariants:
    """Variants of visitors and units that this process has decided; safe to share between threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._decided: OrderedDict[Place, Decided] = OrderedDict()
        self._deciding = threading.Lock()

    def begin_in_child(self) -> None:
        """Go on in a forked process, where nobody will release a lock that another thread held."""
        self._deciding = threading.Lock()

    def of_visitor(self, experiment_id: str, unit_id: str | None, visitor_id: str) -> Decided | None:
        """Find what was decided for a visitor itself; None where nothing was."""
        return self._decided.get((experiment_id, unit_id, visitor_id))

    def of_unit(self, experiment_id: str, unit_id: str | None) -> Decided | None:
        """Find what was decided for any visitor of a unit; None where nothing was."""
        return self._decided.get((experiment_id, unit_id, _ANY_VISITOR))

    def of_decision(self, decision: Decision) -> Decided | None:
        """Find what a decision is remembered as."""
        return self._decided.get(_place_of(decision))

    def remember(self, decision: Decision) -> None:
        """Remember a decision for its visitor, and for others of its unit; a forced one is not."""
        if decision.variant_id is not None and decision.status != "forced":
            self.hold(
                decision.experiment_id or "", decision.visitor_id, decision.unit_id, decision.variant_id
            )

    def hold(self, experiment_id: str, visitor_id: str, unit_id: str | None, variant_id: str) -> None:
        """Remember the variant of a visitor and of its unit; None for an experiment that assigns visitors."""
        if len(visitor_id) > MAX_ID_LENGTH:
            # The service takes no events of a visitor with such a long id.
            return
        own: Place = (experiment_id, unit_id or visitor_id, visitor_id)
        places = [own] if unit_id is None else [own, (*own[:2], _ANY_VISITOR)]
        with self._deciding:
            for place in places:
                known = self._decided.get(place)
                if known is None or known.variant_id != variant_id:
                    self._decided[place] = Decided(variant_id)
                self._decided.move_to_end(place)
            while len(self._decided) > MAX_DECIDED:
                self._decided.popitem(last=False)


def _place_of(decision: Decision) -> Place:
    return decision.experiment_id or "", decision.unit_id or decision.visitor_id, decision.visitor_id


def decision_of(decided: VariantDecision, visitor_id: str, unit: str | None) -> Decision:
    """Tell a decision as the client's callers get it; `unit` is the id that the visitor is assigned by."""
    variant = decided.variant
    return Decision(
        test_key=decided.experiment.test_key,
        visitor_id=visitor_id,
        status=decided.status,
        reason=decided.reason,
        experiment_id=decided.experiment.id,
        variant=None if variant is None else variant.name,
        variant_id=None if variant is None else variant.id,
        is_control=variant is None or variant.is_control,
        changes=()
        if variant is None
        else tuple(
            Change(selector=one.selector, action=one.action, value=one.value) for one in variant.changes
        ),
        redirect_url=decided.redirect_url,
        # A copy, which callers may change.
        payload=None if variant is None else deepcopy(variant.payload),
        has_payloads=decided.experiment.has_payloads,
        unit_id=unit if is_clustered(decided.experiment.unit) else None,
    )
