"""Persons once more, event by event in plain Python: the visitor and user ids that are one person's."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import identities


@dataclass
class Person:
    """What one visitor comes to in one experiment."""

    first: EventRow
    variants: set[str]
    by_device: dict[str, set[str]]
    converted: dict[str, datetime] = field(default_factory=dict)
    orders: dict[str, list[tuple[datetime, int]]] = field(default_factory=lambda: defaultdict(list))
    before: dict[str, float] = field(default_factory=lambda: defaultdict(int))
    purchases: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    amounts: dict[str, list[tuple[datetime, float]]] = field(default_factory=lambda: defaultdict(list))
    denominators: dict[str, list[tuple[datetime, float]]] = field(default_factory=lambda: defaultdict(list))
    steps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    units: set[str | None] = field(default_factory=set)

    @property
    def unit(self) -> str | None:
        """The unit of a person who has one."""
        (unit,) = self.units
        return unit


def persons(rows: Sequence[EventRow]) -> Callable[[EventRow], str]:
    """Return the function that names the person of an event, by the first visitor id of its user."""
    links = list(_links(rows))
    linked: dict[str, dict[bool, list[str]]] = defaultdict(lambda: {True: [], False: []})
    for is_trusted, user, visitor in links:
        seen = linked[user][is_trusted]
        seen += [] if visitor in seen else [visitor]
    counting = {user: seen[True] or seen[False] for user, seen in linked.items()}
    joined = {user: seen for user, seen in counting.items() if len(seen) <= identities.MAX_VISITORS_OF_USER}
    owner: dict[str, str] = {}
    for trusted in (True, False):
        for is_trusted, user, visitor in links:
            if user in joined and is_trusted == trusted == bool(linked[user][True]):
                owner.setdefault(visitor, user)
    own = {user: [visitor for visitor in seen if owner[visitor] == user] for user, seen in joined.items()}

    def person_of(row: EventRow) -> str:
        if row.visitor_id is None and row.user_id in joined:
            return own[(own[row.user_id] and row.user_id) or owner[joined[row.user_id][0]]][0]
        key = row.visitor_id or str(row.user_id)
        return own[owner[key]][0] if key in owner else key

    return person_of


def _links(rows: Sequence[EventRow]) -> Iterator[tuple[bool, str, str]]:
    """Yield whether a server tells it, the user and the visitor, in the order of arrival."""
    users = {row.user_id for row in rows if row.visitor_id is not None}
    for row in rows:
        if row.visitor_id is not None and row.user_id is not None:
            yield is_trusted(row), row.user_id, row.visitor_id
        if row.visitor_id is not None and row.visitor_id in users and is_trusted(row):
            yield True, row.visitor_id, row.visitor_id


def is_trusted(row: EventRow) -> bool:
    return row.sender in {"server", "import"}
