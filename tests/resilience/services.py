"""`truelift serve` in a process of its own: seen over HTTP and through its files only."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forked import ForkedCommand, start_command
from tests.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Service:
    """A running `truelift serve`."""

    process: subprocess.Popen[bytes] | ForkedCommand
    port: int

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        encoded = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, encoded, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def status(self, path: str, headers: Mapping[str, str] | None = None) -> int:
        """Get the status of a path; 0 where nothing listens."""
        try:
            return self.request("GET", path, headers=headers).status
        except OSError:
            return 0

    def kill(self) -> None:
        """Kill it, and wait until its process, and with it its lock on the store, is gone."""
        self.process.kill()
        self.process.wait(60)


@contextmanager
def a_service(data_dir: Path, log: Path, enter: Sequence[str] = (), **settings: object) -> Iterator[Service]:
    """Serve a folder until the end of the block, and then stop the service by SIGTERM.

    `enter` is a command that runs the rest of its arguments, such as in another name space.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    serve = ["serve", "--data-dir", str(data_dir), "--port", str(port)]
    named = {f"TRUELIFT_{name.upper()}": str(value) for name, value in settings.items()}
    environment = {**os.environ, **named}
    log.touch()
    if enter:
        truelift = str(Path(sys.executable).with_name("truelift"))
        with log.open("ab") as lines:
            command = [*enter, truelift, *serve]
            process = subprocess.Popen(command, env=environment, stdout=lines, stderr=lines)
        service = Service(process, port)
    else:
        service = Service(start_command(*serve, log=log, environment=environment), port)
    try:
        wait_until(lambda: service.process.poll() is not None or service.status("/readyz") == 200, within=180)
        assert service.process.poll() is None, log.read_text()
        yield service
    finally:
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
