"""Refused keys: counted, logged without the key, and told to wait after many from one address."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Final

from starlette.requests import HTTPConnection

from api.middleware.address_counts import AddressCounts
from api.middleware.proxies import client_address
from pipeline.events.address_keys import AddressKey
from pipeline.store.catalog.keys import Refusal, RefusedKey
from pipeline.store.catalog.refused_keys import RefusedKeys, Way

WINDOW_SECONDS: Final = 60
# A minute: of an address before it is told to wait, and lines of the log.
MOST_OF_ADDRESS: Final = 100
MOST_LINES: Final = 100

logger = logging.getLogger(__name__)


class KeyRefusals:
    """Refusals of this process, in fixed windows of a minute and bounded memory; thread-safe.

    No valid key is affected: nothing is refused here, and nothing waits.
    """

    def __init__(
        self, audited: RefusedKeys, address_key: AddressKey, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Pass keys whose ids are known on to `audited`."""
        self._counts: Counter[tuple[Way, Refusal]] = Counter()
        self._audited = audited
        self._address_key = address_key
        self._clock = clock
        self._lock = Lock()
        self._ends_at = -math.inf
        self._of_addresses = AddressCounts()
        self._lines = 0

    def note(self, request: HTTPConnection, way: Way, refused: RefusedKey) -> Mapping[str, str]:
        """Count a refusal, and return the headers of its answer."""
        address = client_address(request)
        # Addresses without a key of their own, as the machine's, have one together.
        address_key = self._address_key(address) or 0
        with self._lock:
            self._renew_window()
            self._counts[way, refused.reason] += 1
            self._of_addresses.add(address_key, 1)
            is_many = self._of_addresses.get(address_key) > MOST_OF_ADDRESS
            seconds = math.ceil(self._ends_at - self._clock())
            line = self._lines = self._lines + (refused.reason != "missing")
        if refused.reason != "missing":
            _log(line, address, way, refused)
        if refused.key is not None:
            self._audited.note(refused.key, refused.reason, way)
        return {"Retry-After": str(max(seconds, 1))} if is_many else {}

    def counted(self) -> dict[tuple[Way, Refusal], int]:
        """Count the refusals since the start, by way and reason."""
        with self._lock:
            return dict(self._counts)

    def _renew_window(self) -> None:
        now = self._clock()
        if now >= self._ends_at:
            self._ends_at = now + WINDOW_SECONDS
            self._of_addresses = AddressCounts()
            self._lines = 0


def _log(line: int, address: str | None, way: Way, refused: RefusedKey) -> None:
    """Log the id of the key where it is known, and never what was sent."""
    if line > MOST_LINES:
        if line == MOST_LINES + 1:
            logger.warning("more than %d keys were refused in this minute; further are counted", MOST_LINES)
        return
    key_id = "of no known id" if refused.key is None else refused.key.id
    # A public key is sent by a visitor, whose address no log has.
    sender = "a browser" if way == "public_key" else address
    logger.warning("refused a key (%s) from %s, sent to %s: %s", key_id, sender, way, refused.reason)
