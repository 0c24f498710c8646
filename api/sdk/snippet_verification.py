"""Verification of the snippet at the first call of a page on one of the project's hosts."""

import logging
from functools import partial
from typing import Final

from api.off_loop import in_thread
from pipeline.assignment.project_cache import CachedProject
from pipeline.assignment.snippet import is_own_page, verified
from pipeline.clock import utc_now
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogBusyError, NotFoundError

# Beyond this many, those that this process has verified are asked for again.
MAX_PROJECTS: Final = 10_000

logger = logging.getLogger(__name__)


class SnippetVerification:
    """Marks projects as verified, each once; for use in one event loop."""

    def __init__(self, catalog: Catalog) -> None:
        """Change projects of a catalog."""
        self._catalog = catalog
        # Their cached projects may be older.
        self._verified: set[str] = set()

    async def see(self, cached: CachedProject, page: str | None) -> None:
        """Mark the snippet as verified where the page is one of the project's own.

        A catalog that is busy is left to the next call, so that no visitor's request fails.
        """
        project = cached.project
        if page is None or project.snippet_verified or project.id in self._verified:
            return
        if not is_own_page(project, page):
            return
        if len(self._verified) >= MAX_PROJECTS:
            self._verified.clear()
        # Before the change, so that requests that come meanwhile do not repeat it.
        self._verified.add(project.id)
        verify = partial(verified, now=utc_now())
        change = partial(
            self._catalog.projects.change, project.account_id, project.id, verify, actor="snippet"
        )
        try:
            await in_thread(change)
        except (CatalogBusyError, NotFoundError) as error:
            self._verified.discard(project.id)
            logger.warning("project %s is not marked as verified: %s", project.id, error)
