"""Limit of requests a minute by network address, for pages of strangers, in bounded memory."""

import math
import time
from collections.abc import Callable
from typing import Final

from starlette.requests import HTTPConnection

from api.errors import ApiError
from api.middleware.address_counts import AddressCounts
from api.middleware.proxies import client_address
from pipeline.events.address_keys import AddressKey

WINDOW_SECONDS: Final = 60


class AddressLimit:
    """Fixed windows of a minute for all addresses together; for use in one event loop."""

    def __init__(
        self, most: int, address_key: AddressKey, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take `most` requests of an address in a window."""
        self._most = most
        self._address_key = address_key
        self._clock = clock
        self._ends_at = -math.inf
        self._counts = AddressCounts()

    def require_room(self, request: HTTPConnection) -> None:
        """Count a request; ApiError `rate_limited` for one beyond those that its address may send."""
        now = self._clock()
        if now >= self._ends_at:
            self._ends_at, self._counts = now + WINDOW_SECONDS, AddressCounts()
        # Addresses without a key of their own, as the machine's, have one together.
        key = self._address_key(client_address(request)) or 0
        if self._counts.get(key) >= self._most:
            seconds = math.ceil(self._ends_at - now)
            raise ApiError(
                "rate_limited",
                f"{self._most} requests a minute are possible from your network; wait {seconds} s",
                headers={"Retry-After": str(seconds)},
            )
        self._counts.add(key, 1)
