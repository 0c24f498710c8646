"""A service in a process of its own, for the time of a measurement."""

import multiprocessing
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.error import URLError

SPAWN = multiprocessing.get_context("spawn")


@contextmanager
def served(serve: Callable[..., None], *arguments: object) -> Iterator[int]:
    """Run `serve(port, *arguments)` in another process; yield the port once it is ready."""
    port = free_port()
    server = SPAWN.Process(target=serve, args=(port, *arguments))
    server.start()
    try:
        wait_until_ready(port)
        yield port
    finally:
        server.terminate()
        server.join()


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def wait_until_ready(port: int, pause: float = 0.1) -> None:
    """Ask a service every `pause` seconds until it is ready; RuntimeError after a minute."""
    for _ in range(round(60 / pause)):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
        except URLError:
            time.sleep(pause)
        else:
            return
    raise RuntimeError("the service did not start within a minute")
