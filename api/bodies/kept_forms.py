"""Kept forms: fields of forms that were sent without a session, bounded in bytes and age, in memory alone."""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

LONGEST: Final = timedelta(hours=1)
# Several forms of the largest size.
MOST_BYTES: Final = 16 * 2**20
# Estimated size of a field besides its texts.
_OVERHEAD_BYTES: Final = 200
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class KeptForm:
    """Fields of a form that was sent to an address."""

    address: str
    fields: Mapping[str, str]
    kept_at: datetime
    size: int
    """Estimated bytes in memory."""


class KeptForms:
    """Forms by a secret that only their browser has, of which the oldest are dropped; thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Keep nothing yet, and at most so many bytes."""
        self._most_bytes = most_bytes
        self._changing = threading.Lock()
        self._kept: OrderedDict[str, KeptForm] = OrderedDict()
        self._bytes = 0

    def keep(self, address: str, fields: Mapping[str, str], *, now: datetime) -> str:
        """Keep a form, and return its secret; a form that is larger than all may be is dropped at once."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        size = sum(4 * len(text) + _OVERHEAD_BYTES for field in fields.items() for text in field)
        with self._changing:
            self._kept[secret] = KeptForm(address, fields, now, size)
            self._bytes += size
            self._drop_old(now)
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._kept)))
        return secret

    def find(self, secret: str, *, now: datetime) -> KeptForm | None:
        """Return the form of a secret; None where none is kept."""
        with self._changing:
            self._drop_old(now)
            return self._kept.get(secret)

    def drop(self, secret: str) -> None:
        """Keep a form no longer."""
        with self._changing:
            if secret in self._kept:
                self._drop(secret)

    def _drop_old(self, now: datetime) -> None:
        # The oldest come first.
        while self._kept and next(iter(self._kept.values())).kept_at + LONGEST <= now:
            self._drop(next(iter(self._kept)))

    def _drop(self, secret: str) -> None:
        self._bytes -= self._kept.pop(secret).size
