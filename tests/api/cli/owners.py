"""Another process that owns a store, as a running service does."""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

from pipeline.settings import Settings
from pipeline.store.ownership.store_lock import locked_store
from tests.forked import CONTEXT
from tests.waiting import PATIENCE_SECONDS


def own(data_dir: Path, is_owned: Event, is_over: Event) -> None:
    """Own a store until it is over."""
    with locked_store(Settings(data_dir=data_dir, catalog_url=None)):
        is_owned.set()
        is_over.wait()


@contextmanager
def owned_by_another_process(data_dir: Path) -> Iterator[None]:
    is_owned, is_over = CONTEXT.Event(), CONTEXT.Event()
    owner = CONTEXT.Process(target=own, args=(data_dir, is_owned, is_over))
    owner.start()
    try:
        assert is_owned.wait(PATIENCE_SECONDS)
        yield
    finally:
        is_over.set()
        owner.join()
