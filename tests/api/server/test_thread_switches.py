"""Switches between threads of the served process."""

import sys
from contextlib import suppress

import pytest

from api.server.thread_switches import SWITCH_SECONDS, frequent_switches


def test_switches_are_frequent_until_the_end_however_it_ends() -> None:
    before = sys.getswitchinterval()
    with suppress(KeyboardInterrupt), frequent_switches():
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
        raise KeyboardInterrupt
    assert sys.getswitchinterval() == before > SWITCH_SECONDS
