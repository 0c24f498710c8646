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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    server = SPAWN.Process(target=serve, args=(port, *arguments))
    server.start()
    try:
        _wait_for(port)
        yield port
    finally:
        server.terminate()
        server.join()


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
        except URLError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the service did not start within a minute")
