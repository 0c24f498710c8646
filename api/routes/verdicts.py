"""Verdicts of many experiments in one answer: those of a project, or of all that the key reaches."""

from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request

from api.auth import Caller
from api.deps import CatalogDep, Now, ProjectOfReadableResults, ResultsReader, require_once
from api.errors import KEY_CODES, documented
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta
from api.schemas.list_queries import AccountVerdictsQuery, VerdictsQuery
from api.schemas.verdicts import ExperimentVerdict
from pipeline.results.recent_changes import recent_changes
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.experiment_listings import ListedVerdict
from pipeline.store.catalog.pagination import Page

MOST: Final = 500
_SINCE: Final = timedelta(hours=24)

router: Final[APIRouter] = router_at(
    PREFIX, tags=["Results"], responses=documented(*KEY_CODES, "validation_error")
)


async def _per_page(per_page: Annotated[int, Query(ge=1, description=f"At most {MOST}.")] = MOST) -> int:
    return min(per_page, MOST)


VerdictsPerPage = Annotated[int, Depends(_per_page)]


@router.get("/projects/{project_id}/verdicts", responses=documented("not_found"))
def list_project_verdicts(
    request: Request,
    caller: ResultsReader,
    project: ProjectOfReadableResults,
    catalog: CatalogDep,
    query: Annotated[VerdictsQuery, Query()],
    now: Now,
    per_page: VerdictsPerPage = MOST,
) -> Listing[ExperimentVerdict]:
    """List a project's experiments with their verdicts as last counted, and what has changed lately."""
    require_once(request, VerdictsQuery.model_fields)
    listings = catalog.experiment_listings
    found = listings.verdicts(query.wanted(project.id), page=query.page, per_page=per_page)
    return _listing(catalog, caller, found, query.since or now - _SINCE)


@router.get("/account/verdicts")
def list_account_verdicts(
    request: Request,
    caller: ResultsReader,
    catalog: CatalogDep,
    query: Annotated[AccountVerdictsQuery, Query()],
    now: Now,
    per_page: VerdictsPerPage = MOST,
) -> Listing[ExperimentVerdict]:
    """List the experiments of all projects that the key reaches, as those of one project."""
    require_once(request, AccountVerdictsQuery.model_fields)
    reached = [one for one in catalog.projects.ids(caller.account.id) if caller.key.reaches(one)]
    listings = catalog.experiment_listings
    found = listings.verdicts(query.wanted(reached), page=query.page, per_page=per_page)
    return _listing(catalog, caller, found, query.since or now - _SINCE)


def _listing(
    catalog: Catalog, caller: Caller, found: Page[ListedVerdict], since: datetime
) -> Listing[ExperimentVerdict]:
    """Describe a page of verdicts with the changes since a time."""
    entries = catalog.audit.since(caller.account.id, since, {one.experiment.id for one in found.items})
    names = {key.id: key.name for key in catalog.keys.of_account(caller.account.id)}
    changes = recent_changes(found.items, entries, names, since=since)
    return Listing(
        data=[ExperimentVerdict.of(one, changes.get(one.experiment.id, ())) for one in found.items],
        meta=Meta(page=found.page, per_page=found.per_page, total=found.total),
    )
