"""Records found by their id or name."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Protocol, TypeVar


class Named(Protocol):
    """A record with an id, and a name that others may have too."""

    @property
    def id(self) -> str:
        """The id."""

    @property
    def name(self) -> str:
        """The name."""


Found = TypeVar("Found", bound=Named)


def find_named(known: Sequence[Found], name: str, *, missing: str) -> Found:
    """Find the one record with an id, or else with a name; KeyError, with what is `missing`, and a hint."""
    found = [one for one in known if one.id == name] or [one for one in known if one.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise KeyError(f"several are named {name!r}: {', '.join(one.id for one in found)}")
    near = get_close_matches(name, [one.name for one in known], n=1)
    there = ", ".join(repr(one.name) for one in known) or "none"
    raise KeyError(f"{missing}; {f'did you mean {near[0]!r}?' if near else f'there are: {there}'}")
