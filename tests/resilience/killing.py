"""Starting servers on a store, and killing them."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


@contextmanager
def the_servers() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.resilience.servers"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as servers:
        yield servers
        assert servers.stdin is not None
        servers.stdin.close()


def start_server(servers: subprocess.Popen[str], data_dir: Path) -> tuple[int, int]:
    """Start a server on the store; returns its process id and its port, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    assert servers.stdin is not None
    assert servers.stdout is not None
    servers.stdin.write(f"{port} {data_dir}\n")
    servers.stdin.flush()
    process_id = int(servers.stdout.readline())
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return process_id, port
        except OSError:
            time.sleep(0.02)
        finally:
            connection.close()
    raise AssertionError("the server did not start")


def kill(process_id: int) -> None:
    """Kill a server and wait until it is gone, and its hold on the store with it."""
    os.kill(process_id, signal.SIGKILL)
    with suppress(ProcessLookupError):
        while True:
            os.kill(process_id, 0)
            time.sleep(0.01)
