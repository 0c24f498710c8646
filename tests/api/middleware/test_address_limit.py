"""Requests a minute of each network address, told apart, and counted anew in the next minute."""

import pytest
from starlette.requests import HTTPConnection

from api.errors import ApiError
from api.middleware.address_limit import AddressLimit
from pipeline.events.address_keys import address_keys


def a_request(address: str) -> HTTPConnection:
    return HTTPConnection({"type": "http", "headers": [], "client": (address, 50_000), "state": {}})


def test_an_address_has_so_many_requests_in_each_minute() -> None:
    now = [1000.0]
    limit = AddressLimit(3, address_keys(b"secret"), clock=lambda: now[0])
    for address in ("192.0.2.1", "2001:db8::1", "127.0.0.1"):
        for _ in range(3):
            limit.require_room(a_request(address))
    now[0] += 59.5
    for address in ("192.0.2.1", "2001:db8::ffff", "127.0.0.1"):
        with pytest.raises(ApiError, match="3 requests a minute") as refused:
            limit.require_room(a_request(address))
        assert (refused.value.code, refused.value.headers) == ("rate_limited", {"Retry-After": "1"})
    limit.require_room(a_request("192.0.2.2"))
    now[0] += 0.5
    limit.require_room(a_request("192.0.2.1"))
