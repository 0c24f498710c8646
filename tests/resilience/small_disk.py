"""A small file system, and a service on it: seen over HTTP and through its files only."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.waiting import wait_until

MEBIBYTE: Final = 2**20
# A tmpfs in a mount namespace of its own: gone with its holder, whatever happens to the test.
_HOLD: Final = 'mount -t tmpfs -o size="$1" tmpfs "$0" && echo mounted && exec cat'


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A mounted file system; `mount_point` is its path for processes run by `command`."""

    mount_point: Path
    holder: int
    enter: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Its path for this process."""
        return Path(f"/proc/{self.holder}/root{self.mount_point}")

    @property
    def free(self) -> int:
        """Free bytes."""
        return shutil.disk_usage(self.folder).free

    def command(self, *arguments: str) -> list[str]:
        """Build the command line of a process that sees the disk."""
        return [*self.enter, *arguments]

    def fill(self, *, but: int = 0) -> None:
        """Fill the disk with one file, but for so many bytes."""
        with (self.folder / "ballast").open("ab") as ballast:
            os.posix_fallocate(ballast.fileno(), ballast.tell(), self.free - but)

    def clear(self) -> None:
        """Remove the file of `fill`."""
        (self.folder / "ballast").unlink()


@contextmanager
def a_small_disk(mount_point: Path, size: int) -> Iterator[SmallDisk]:
    """Mount an empty file system of that many bytes; needs root, or the right to user namespaces."""
    as_root = os.geteuid() == 0
    kinds = ("--mount",) if as_root else ("--mount", "--user", "--map-root-user")
    held = ["unshare", *kinds, "sh", "-c", _HOLD, str(mount_point), str(size)]
    with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "mounted\n"
        into = ("--mount",) if as_root else ("--mount", "--user", "--preserve-credentials")
        try:
            yield SmallDisk(mount_point, holder.pid, ("nsenter", "--target", str(holder.pid), *into))
        finally:
            holder.stdin.close()


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

    process: subprocess.Popen[bytes]
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


@contextmanager
def a_service(disk: SmallDisk, data_dir: Path, log: Path, **settings: object) -> Iterator[Service]:
    """Serve a folder of the disk until the end of the block, and then stop the service by SIGTERM."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    serve = disk.command(
        str(Path(sys.executable).with_name("truelift")),
        *("serve", "--data-dir", str(data_dir), "--port", str(port)),
    )
    named = {f"TRUELIFT_{name.upper()}": str(value) for name, value in settings.items()}
    with log.open("ab") as lines:
        process = subprocess.Popen(serve, env={**os.environ, **named}, stdout=lines, stderr=lines)
    service = Service(process, port)
    try:
        wait_until(lambda: process.poll() is not None or service.status("/readyz") == 200, within=180)
        assert process.poll() is None, log.read_text()
        yield service
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
