"""Watch over the ownership of a catalog on PostgreSQL, whose lock is lost with its connection."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.ownership.store_lock import OwnershipLostError, StoreLock

logger = logging.getLogger(__name__)

SECONDS: Final = 5.0


@contextmanager
def watched_ownership(
    lock: StoreLock,
    catalog: Catalog,
    on_loss: Callable[[OwnershipLostError], None],
    *,
    seconds: float = SECONDS,
) -> Iterator[None]:
    """Confirm the lock every few seconds inside the block; call `on_loss` once another process has it."""
    ended = threading.Event()
    record = catalog.warehouses.find()

    def watch() -> None:
        while not ended.wait(seconds):
            try:
                if lock.renew() and catalog.warehouses.find() != record:
                    raise OwnershipLostError("another process owned the catalog meanwhile")  # noqa: TRY301
            except OwnershipLostError as loss:
                logger.critical("%s; this service ends", loss)
                on_loss(loss)
                return
            except CatalogError as error:
                # No other process is known to have it; without a catalog, requests are answered by 503.
                logger.warning("the lock of the catalog cannot be confirmed", exc_info=error)

    thread = threading.Thread(target=watch, name="ownership", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
