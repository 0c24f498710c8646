"""Sockets of the service: bound, refused in a sentence, and listening at the end."""

import socket

import pytest

from api.cli.console import CommandError
from api.cli.listening import bound_sockets, listen


def test_a_bound_address_takes_connections_once_it_listens() -> None:
    with bound_sockets("127.0.0.1", 0) as sockets:
        address = sockets[0].getsockname()
        with socket.socket() as early:
            assert early.connect_ex(address) != 0
        assert listen(sockets) == f"http://127.0.0.1:{address[1]}"
        socket.create_connection(address).close()


def test_every_address_of_a_name_gets_the_same_port() -> None:
    with bound_sockets("localhost", 0) as sockets:
        assert len({one.getsockname()[1] for one in sockets}) == 1


def test_a_taken_port_is_refused_with_what_to_do() -> None:
    with bound_sockets("127.0.0.1", 0) as sockets:
        listen(sockets)
        port = sockets[0].getsockname()[1]
        with pytest.raises(CommandError, match=f"127.0.0.1:{port}: the port is in use; stop"):  # noqa: SIM117
            with bound_sockets("127.0.0.1", port):
                pass


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_this_machine_is_refused(host: str) -> None:
    with pytest.raises(CommandError, match=r"choose another --host"), bound_sockets(host, 0):
        pass
