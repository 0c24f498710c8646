"""Garbage collection of the served process: rare, and without the objects of the program itself."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Containers allocated beyond those freed until the young ones are looked through, such collections until
# the middle-aged are, and such until all are. An event leaves no garbage, and an unknown key 125 containers.
THRESHOLDS: Final = (50_000, 10, 10)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely inside the block, and never look through what there is before it.

    A full collection looks through the modules, routes and schemas of the program: 190,000 containers and
    more, for 143 ms (median of five, on a quiet machine), in which no request is answered. The 3,000 of them
    that are garbage already stay until the end.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        # DuckDB's bindings report as leaked what is frozen when the process ends.
        gc.unfreeze()
