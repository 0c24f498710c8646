"""Owner of a store: the process that works on it."""

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from pipeline.clock import utc_now


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that owns a store, since an aware time.

    `address` is the URL at which a service takes requests; None of any other process, and before it does.
    """

    host: str
    pid: int
    since: datetime
    address: str | None = None

    @classmethod
    def this_process(cls) -> Self:
        """Describe this process, as the owner from now on."""
        return cls(host=socket.gethostname(), pid=os.getpid(), since=utc_now())

    def __str__(self) -> str:
        """Name the process, its host and the time since which it owns the store."""
        return f"process {self.pid} on {self.host} since {self.since:%Y-%m-%d %H:%M:%S} UTC"
