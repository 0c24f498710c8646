"""Index of links between visitors and users: in memory, 48 bytes a link, by the rules of the rollup."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.assignment.pair_table import PairTable
from pipeline.assignment.sorted_pairs import Pairs
from pipeline.store.warehouse.identities import BROWSERS_LATER, MAX_VISITORS_OF_USER, Links

# So many links that were known lately are not looked up again.
MAX_KNOWN: Final = 16_384
# A link as it is stored under the key of one side: the place in the order of links, and the other key.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class UserClaim:
    """The user that a request names for its visitor; trusted from a server."""

    user_key: int
    is_trusted: bool


class LinkIndex:
    """Links of one project's visitors and users; the earliest of a pair and of each kind of sender."""

    def __init__(self) -> None:
        """Begin without links."""
        self.of_visitors = PairTable(np.uint64)
        self.of_users = PairTable(np.uint64)
        self._known: set[tuple[int, int, bool]] = set()

    def add(self, visitor_key: int, user_key: int, place: int) -> None:
        """Add the link of an event, unless it would change nothing."""
        link = (visitor_key, user_key, place < BROWSERS_LATER)
        if link in self._known:
            return
        if not self.knows(visitor_key, UserClaim(user_key, is_trusted=place < BROWSERS_LATER)):
            self.of_visitors.add(visitor_key, user_key, place)
            self.of_users.add(user_key, visitor_key, place)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.add(link)

    def merge(self, links: Links) -> None:
        """Add the links of stored events."""
        self.of_visitors.merge(_sorted(links.visitor_keys, links.user_keys, links.orders))
        self.of_users.merge(_sorted(links.user_keys, links.visitor_keys, links.orders))

    def remove(self, visitor_keys: Sequence[int], user_keys: Sequence[int]) -> None:
        """Drop the links of visitors and users; not while links are added."""
        self.of_visitors.remove(visitor_keys, user_keys)
        self.of_users.remove(user_keys, visitor_keys)
        self._known.clear()

    def visitors_with(self, visitor_key: int, claim: UserClaim | None, newest_seq: int) -> list[int]:
        """List the visitors of the user that a visitor belongs to, or would by `claim`, without itself.

        A claim comes after all events up to `newest_seq`.
        """
        candidates = self.of_visitors.of(visitor_key)
        claimed = None
        if claim is not None:
            # The newest link of its kind.
            claimed = (newest_seq + 1 + (0 if claim.is_trusted else BROWSERS_LATER), claim.user_key)
            candidates = sorted([*candidates, claimed])
        for place in candidates:
            order, user = place
            visitors = self._joined(user, only_trusted=order < BROWSERS_LATER)
            if visitors and (place == claimed or (order, visitor_key) in visitors):
                others = [key for _, key in visitors if key != visitor_key]
                return [key for key in others if self._owner_of(key) == user]
        return []

    def knows(self, visitor_key: int, claim: UserClaim) -> bool:
        """Tell whether an event with these ids would change nothing."""
        for links, other in (
            (self.of_users.of(claim.user_key), visitor_key),
            (self.of_visitors.of(visitor_key), claim.user_key),
        ):
            same = _of_kind(links, is_trusted=claim.is_trusted)
            if len(same) > MAX_VISITORS_OF_USER or any(key == other for _, key in same):
                return True
        return False

    def _joined(self, user: int, *, only_trusted: bool = False) -> Sequence[Place]:
        """List the links of a user that count; those of browsers count where there are no others."""
        links = self.of_users.of(user)
        counting: Sequence[Place] = _of_kind(links, is_trusted=True)
        if not counting and not only_trusted:
            counting = links
        return [] if len(counting) > MAX_VISITORS_OF_USER else counting

    def _owner_of(self, visitor: int) -> int | None:
        links = self.of_visitors.of(visitor)
        return next((user for order, user in links if (order, visitor) in self._joined(user)), None)


def _of_kind(links: Iterable[Place], *, is_trusted: bool) -> list[Place]:
    return [link for link in links if (link[0] < BROWSERS_LATER) == is_trusted]


def _sorted(
    keys: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64], places: npt.NDArray[np.int64]
) -> Pairs:
    in_order = np.argsort(keys, kind="stable")
    return Pairs(keys[in_order], others[in_order], places[in_order])
