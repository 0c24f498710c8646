"""Garbage collection of the served process."""

import gc
import weakref
from contextlib import suppress

from api.server.garbage_collection import THRESHOLDS, rare_collections


class Cycle:
    """An object that only a collection frees."""

    def __init__(self) -> None:
        self.itself = self


def test_what_there_is_before_is_left_out_until_the_end() -> None:
    thresholds = gc.get_threshold()
    with suppress(KeyboardInterrupt), rare_collections():
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == THRESHOLDS
        raise KeyboardInterrupt
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == thresholds


def test_cycles_of_the_block_are_freed_in_it() -> None:
    with rare_collections():
        cycles = [weakref.ref(Cycle()) for _ in range(2 * THRESHOLDS[0])]
        assert sum(cycle() is not None for cycle in cycles) <= THRESHOLDS[0]
