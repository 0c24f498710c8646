"""Opening what a command needs: the catalog while the service runs, the warehouse when it does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.store.catalog import Catalog


def settings_for(data_dir: Path) -> Settings:
    """The settings of this environment, on the store in `data_dir`."""
    return Settings(data_dir=data_dir)


@contextmanager
def opened_catalog(data_dir: Path) -> Iterator["Catalog"]:
    """The catalog in `data_dir`, made if there is none, closed at the end."""
    from pipeline.store.catalog import Catalog

    catalog = Catalog.open(settings_for(data_dir))
    try:
        yield catalog
    finally:
        catalog.close()
