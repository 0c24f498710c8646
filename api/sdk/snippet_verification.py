"""Verification of the snippet at the first call of a page on one of the project's hosts."""

from functools import partial

from starlette.concurrency import run_in_threadpool

from api.sdk.admission import SdkServices
from pipeline.assignment.project_cache import CachedProject
from pipeline.assignment.snippet import is_own_page, verified
from pipeline.clock import utc_now


async def verify_snippet(services: SdkServices, cached: CachedProject, page: str | None) -> None:
    """Mark the snippet as verified where the page is one of the project's own."""
    project = cached.project
    if project.snippet_verified or not is_own_page(project, page):
        return
    verify = partial(verified, now=utc_now())
    await run_in_threadpool(
        services.catalog.projects.change, project.account_id, project.id, verify, actor="snippet"
    )
