"""Sockets of the service: bound, refused in a sentence, and listening at the end."""

import resource
import socket
from contextlib import ExitStack

import pytest

from api.cli.console import CommandError
from api.cli.listening import bound_sockets, listen, shared_sockets


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


def test_shared_sockets_are_connected_to_in_turn_and_no_other_socket_takes_their_port() -> None:
    with bound_sockets("127.0.0.1", 0) as sockets, shared_sockets(sockets, 2) as groups:
        url = listen(sockets)
        port = int(url.rpartition(":")[2])
        assert [one.getsockname() for group in groups for one in group] == [("127.0.0.1", port)] * 2
        with ExitStack() as stack:
            for _ in range(64):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for group in groups:
                group[0].settimeout(60)
                stack.enter_context(group[0].accept()[0])
        with pytest.raises(CommandError, match="the port is in use"), bound_sockets("127.0.0.1", port):
            pass


def test_a_share_that_the_system_refuses_is_refused_in_a_sentence() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with bound_sockets("127.0.0.1", 0) as sockets:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            with pytest.raises(CommandError, match="Too many open files"), shared_sockets(sockets, 2):
                pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_shares_leave_the_sockets_to_their_process() -> None:
    with bound_sockets("127.0.0.1", 0) as sockets, shared_sockets(sockets, 0) as groups:
        assert groups == []
        assert sockets[0].getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0
