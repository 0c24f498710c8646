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

    @property
    def size(self) -> int:
        """Estimated bytes in memory."""
        return sum(4 * len(text) + _OVERHEAD_BYTES for field in self.fields.items() for text in field)


class KeptForms:
    """Forms by a secret that only their browser has, of which the oldest are dropped; thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Keep nothing yet, and at most so many bytes."""
        self._most_bytes = most_bytes
        self._changing = threading.Lock()
        self._kept: OrderedDict[str, KeptForm] = OrderedDict()

    def keep(self, address: str, fields: Mapping[str, str], *, now: datetime) -> str:
        """Keep a form, and return its secret; a form that is larger than all may be is dropped at once."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        with self._changing:
            self._kept[secret] = KeptForm(address, fields, now)
            self._drop_old(now)
            while sum(form.size for form in self._kept.values()) > self._most_bytes:
                self._kept.popitem(last=False)
        return secret

    def address_of(self, secret: str, *, now: datetime) -> str | None:
        """Return the address of a kept form; None where none is kept."""
        with self._changing:
            self._drop_old(now)
            form = self._kept.get(secret)
            return form.address if form else None

    def take(self, secret: str, address: str, *, now: datetime) -> Mapping[str, str] | None:
        """Return the fields of a form of that address, and keep them no longer; None where none is kept."""
        with self._changing:
            self._drop_old(now)
            form = self._kept.get(secret)
            if form is None or form.address != address:
                return None
            del self._kept[secret]
            return form.fields

    def _drop_old(self, now: datetime) -> None:
        for secret in [one for one, form in self._kept.items() if form.kept_at + LONGEST <= now]:
            del self._kept[secret]
