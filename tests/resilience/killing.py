"""Server processes on a store: start and kill."""

import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_until

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
    wait_until(lambda: is_ready(port))
    return process_id, port


def is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def kill(process_id: int) -> None:
    """Kill a server, and wait until its process, and with it its lock on the store, is gone."""
    os.kill(process_id, signal.SIGKILL)
    wait_until(lambda: not is_alive(process_id))


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True
