"""Index of links between visitors and users: in memory, 48 bytes a link, by the rules of the rollup."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.store.warehouse.identities import BROWSERS_LATER, MAX_VISITORS_OF_USER, Links

# New links are kept in dictionaries until there are so many: a merge copies the arrays.
MAX_RECENT_LINKS: Final = 65_536
# A link as it is stored under the key of one side: the place in the order of links, and the other key.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class UserClaim:
    """The user that a request names for its visitor; trusted from a server."""

    user_key: int
    is_trusted: bool


@dataclass(slots=True)
class _Side:
    """Links by the key of one side: sorted arrays, and a dictionary of recent ones."""

    keys: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    others: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    orders: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    recent: dict[int, list[Place]] = field(default_factory=dict)

    def of(self, key: int) -> list[Place]:
        """List the links of a key, those that count first in front."""
        low, high = (
            np.searchsorted(self.keys, np.uint64(key)),
            np.searchsorted(self.keys, np.uint64(key), "right"),
        )
        stored = zip(self.orders[low:high].tolist(), self.others[low:high].tolist(), strict=True)
        return sorted([*stored, *self.recent.get(key, ())])

    def merge(self) -> None:
        """Move the recent links into the arrays."""
        places = [(key, order, other) for key, links in self.recent.items() for order, other in links]
        if places:
            keys, orders, others = zip(*places, strict=True)
            self.extend(np.array(keys, np.uint64), np.array(others, np.uint64), np.array(orders, np.int64))
        self.recent = {}

    def extend(
        self, keys: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64], orders: npt.NDArray[np.int64]
    ) -> None:
        """Add links to the arrays."""
        keys = np.concatenate([self.keys, keys])
        in_order = np.argsort(keys, kind="stable")
        self.keys = keys[in_order]
        self.others = np.concatenate([self.others, others])[in_order]
        self.orders = np.concatenate([self.orders, orders])[in_order]


@dataclass(slots=True)
class LinkIndex:
    """Links of one project's visitors and users, of events numbered up to `seq`."""

    seq: int = 0
    _of_visitors: _Side = field(default_factory=_Side)
    _of_users: _Side = field(default_factory=_Side)
    _recent: int = 0

    def add(self, links: Links, up_to_seq: int) -> None:
        """Add links of newer events, in their order; known ones stay as they are."""
        if self.seq == 0:
            self._of_visitors.extend(links.visitor_keys, links.user_keys, links.orders)
            self._of_users.extend(links.user_keys, links.visitor_keys, links.orders)
        else:
            for visitor, user, order in zip(*(column.tolist() for column in links), strict=True):
                self._add_one(visitor, user, order)
        self.seq = up_to_seq

    def visitors_with(self, visitor_key: int, claim: UserClaim | None) -> list[int]:
        """List the visitors of the user that a visitor belongs to, or would by `claim`, without itself."""
        candidates = self._of_visitors.of(visitor_key)
        claimed = None
        if claim is not None:
            # The newest link of its kind.
            claimed = (self.seq + 1 + (0 if claim.is_trusted else BROWSERS_LATER), claim.user_key)
            candidates = sorted([*candidates, claimed])
        for place in candidates:
            order, user = place
            visitors = self._joined(user, only_trusted=order <= self.seq + 1)
            if visitors and (place == claimed or (order, visitor_key) in visitors):
                others = [key for _, key in visitors if key != visitor_key]
                return [key for key in others if self._owner_of(key) == user]
        return []

    def knows(self, visitor_key: int, claim: UserClaim) -> bool:
        """Tell whether an event with these ids would change nothing."""
        for links, other in (
            (self._of_users.of(claim.user_key), visitor_key),
            (self._of_visitors.of(visitor_key), claim.user_key),
        ):
            same = _of_kind(links, is_trusted=claim.is_trusted)
            if len(same) > MAX_VISITORS_OF_USER or any(key == other for _, key in same):
                return True
        return False

    def _add_one(self, visitor: int, user: int, order: int) -> None:
        if self.knows(visitor, UserClaim(user, is_trusted=order < BROWSERS_LATER)):
            return
        self._of_visitors.recent.setdefault(visitor, []).append((order, user))
        self._of_users.recent.setdefault(user, []).append((order, visitor))
        self._recent += 1
        if self._recent > MAX_RECENT_LINKS:
            self._of_visitors.merge()
            self._of_users.merge()
            self._recent = 0

    def _joined(self, user: int, *, only_trusted: bool = False) -> list[Place]:
        """List the links of a user that count; those of browsers count where there are no others."""
        links = self._of_users.of(user)
        counting = _of_kind(links, is_trusted=True)
        if not counting and not only_trusted:
            counting = links
        return [] if len(counting) > MAX_VISITORS_OF_USER else counting

    def _owner_of(self, visitor: int) -> int | None:
        links = self._of_visitors.of(visitor)
        return next((user for order, user in links if (order, visitor) in self._joined(user)), None)


def _of_kind(links: Sequence[Place], *, is_trusted: bool) -> list[Place]:
    return [link for link in links if (link[0] < BROWSERS_LATER) == is_trusted]
