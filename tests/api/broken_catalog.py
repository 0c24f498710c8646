"""A catalog that fails, as a damaged file does."""

from collections.abc import Iterator
from contextlib import contextmanager

from api.services import Services


@contextmanager
def a_catalog_without_projects(services: Services) -> Iterator[None]:
    """Hide the table of projects, and restore it at the end."""
    with services.catalog.database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE projects RENAME TO lost")
    try:
        yield
    finally:
        with services.catalog.database.write() as connection:
            connection.exec_driver_sql("ALTER TABLE lost RENAME TO projects")
