"""Refused keys whose ids are known: counts that wait for the audit trail."""

from collections import Counter
from threading import Lock
from typing import Final, Literal, NamedTuple

from pipeline.store.catalog.audit import record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.keys import ApiKey, Refusal

# What a key is sent to: REST, MCP, the SDK endpoints with a bearer or a public key, or the dashboard.
Way = Literal["api", "mcp", "sdk", "public_key", "sign_in", "sign_in_link"]
ACTOR: Final = "unknown client"
# Beyond them keys are counted in the metrics only, until the others are written.
MOST_WAITING: Final = 10_000


class _Refused(NamedTuple):
    account_id: str
    key_id: str
    reason: Refusal
    way: Way


class RefusedKeys:
    """Counts of this process; thread-safe.

    They are written later and by another thread: a write with the answer would tell by its time that the
    id is known, and let a stranger keep the catalog busy.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._waiting: Counter[_Refused] = Counter()

    def note(self, key: ApiKey, reason: Refusal, way: Way) -> None:
        """Count a refusal for the audit trail of the key's account."""
        refused = _Refused(key.account_id, key.id, reason, way)
        with self._lock:
            if refused in self._waiting or len(self._waiting) < MOST_WAITING:
                self._waiting[refused] += 1

    def write(self) -> None:
        """Write an entry for each key, reason and way since the last call; CatalogBusyError keeps them."""
        with self._lock:
            waiting, self._waiting = self._waiting, Counter()
        if not waiting:
            return
        try:
            with self._database.write() as connection:
                for refused, number in waiting.items():
                    facts = {"refused": number, "reason": refused.reason, "way": refused.way}
                    changes = {name: [None, fact] for name, fact in facts.items()}
                    record(connection, refused.account_id, ACTOR, refused.key_id, changes)
        except BaseException:
            with self._lock:
                self._waiting += waiting
            raise
