"""Redis server of the machine's own packages, for tests."""

import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import wait_until


def free_port() -> int:
    """Return a port on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(slots=True)
class Redis:
    """A server that can be stopped and started again; `options` are of its command line."""

    folder: Path
    options: Sequence[str] = ("--save", "", "--loglevel", "warning")
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        own = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command = ["redis-server", *own, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until(self.takes_connections)

    def takes_connections(self) -> bool:
        """Return whether something listens on its port."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        """Stop it, if it was started."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=10)
