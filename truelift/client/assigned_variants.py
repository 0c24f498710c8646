"""Variants in a browser's cookie, as the browser script reads and writes them."""

import re
from typing import Final

import mmh3

from engine.design.assignment import id_bytes
from engine.design.experiment import Experiment
from engine.design.units import is_clustered

COOKIE: Final = "truelift_assigned"
# Beyond this many, those kept longest ago are dropped: a cookie has 4 KB.
MOST: Final = 60
_PAIR: Final = re.compile(r"([\w-]+):([\w-]+)", re.ASCII)
_LETTERS: Final = 6


class AssignedVariants:
    """Variants that a visitor was given before, from the cookie `truelift_assigned`, and those given now.

    Give one to `variant` or `decide` as `assigned`; `cookie` is then the value to set. Places that cannot be
    read are left out.
    """

    def __init__(self, cookie: str | None = None, *, is_new_visitor: bool = False) -> None:
        """Read the value of the cookie; None for none. A new visitor was given no variant anywhere."""
        self.is_new_visitor = is_new_visitor
        matches = map(_PAIR.fullmatch, (cookie or "").split("."))
        self._variants = {match[1]: match[2] for match in matches if match}

    @property
    def cookie(self) -> str:
        """Value of the cookie; empty without variants."""
        newest = list(self._variants.items())[-MOST:]
        return ".".join(f"{place}:{variant}" for place, variant in newest)

    def variant_of(self, experiment: Experiment, unit_id: str | None) -> str | None:
        """Return the id of the visitor's variant in an experiment; None for none that it still has."""
        kept = self._variants.get(_place(experiment, unit_id))
        return next((one.id for one in experiment.variants if _short(one.id) == kept), None)

    def keep(self, experiment: Experiment, unit_id: str | None, variant_id: str) -> None:
        """Keep the variant of the visitor, or of its unit."""
        self._variants[_place(experiment, unit_id)] = _short(variant_id)


def _short(identifier: str) -> str:
    return identifier[-_LETTERS:]


def _place(experiment: Experiment, unit_id: str | None) -> str:
    """Return where the variant is kept: each unit other than the visitor has a place of its own."""
    place = _short(experiment.id)
    if unit_id is None or not is_clustered(experiment.unit):
        return place
    return f"{place}{mmh3.hash(id_bytes(unit_id), 0, signed=False)}"
