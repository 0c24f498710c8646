"""Counts by address: bounded in memory, and nearly exact."""

from ipaddress import ip_address

import pytest

from api.middleware.address_counts import AddressCounts
from pipeline.events.address_keys import address_keys


@pytest.mark.long(seconds=3)
def test_counts_of_many_addresses_take_no_more_memory_and_stay_nearly_exact() -> None:
    key_of = address_keys(b"secret")
    counts = AddressCounts()
    before = [len(row) for row in counts.rows]
    keys = [key_of(str(ip_address(number << 8))) for number in range(100_000)]
    for key in keys:
        assert key is not None
        counts.add(key, 1)
    found = [counts.get(key) for key in keys if key is not None]
    assert min(found) == 1
    assert sum(found) / len(found) < 1.5
    assert [len(row) for row in counts.rows] == before
