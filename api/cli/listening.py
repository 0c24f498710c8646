"""Sockets of the service: bound before the store is opened, so that a taken port changes nothing."""

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from api.cli.console import CommandError

BACKLOG: Final = 2048
# Every address of this machine, by the one at which it reaches itself.
ON_THIS_MACHINE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - looked up, not bound
# Error number → reason, for the errors that an operator can fix.
REASONS: Final = {
    errno.EADDRINUSE: "the port is in use; stop the program that listens there, or choose another --port",
    errno.EACCES: "this user may not listen there; choose a --port above 1023",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose another --host",
}


@contextmanager
def bound_sockets(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Bind a socket to every address of the host, closed at the end; CommandError."""
    with ExitStack() as stack:
        sockets: list[socket.socket] = []
        refusals: list[OSError] = []
        for family, address in _addresses(host, port):
            # Port 0 is any free one: the same for every address.
            number = sockets[0].getsockname()[1] if sockets else port
            try:
                sockets.append(stack.enter_context(_bound(family, (address[0], number, *address[2:]))))
            except OSError as error:
                refusals.append(error)
        fatal = [error for error in refusals if error.errno != errno.EADDRNOTAVAIL or not sockets]
        if fatal:
            raise _refused(host, port, fatal[0]) from fatal[0]
        yield sockets


def listen(sockets: list[socket.socket]) -> str:
    """Accept connections, and return the URL of the first address; CommandError."""
    for bound in sockets:
        with _refusals(*bound.getsockname()[:2]):
            bound.listen(BACKLOG)
    return _url(*sockets[0].getsockname()[:2])


def reachable_url(sockets: list[socket.socket]) -> str:
    """Return the URL at which this machine reaches the first address."""
    host, port, *_ = sockets[0].getsockname()
    return _url(ON_THIS_MACHINE.get(host, host), port)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _addresses(host: str, port: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    try:
        resolved = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise CommandError(f"cannot serve on {host!r}: {error.strerror}; choose another --host") from error
    for family, _, _, _, address in dict.fromkeys(resolved):
        yield family, address


def _bound(family: int, address: tuple[Any, ...]) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
    except BaseException:
        opened.close()
        raise
    return opened


@contextmanager
def _refusals(host: str, port: int) -> Iterator[None]:
    """Raise errors of the system as CommandError."""
    try:
        yield
    except OSError as error:
        raise _refused(host, port, error) from error


def _refused(host: str, port: int, error: OSError) -> CommandError:
    reason = REASONS.get(error.errno or 0, error.strerror)
    return CommandError(f"cannot serve on {host}:{port}: {reason}")
