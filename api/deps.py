"""Dependencies of routes; the scope that a route needs is part of the type in its signature."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Annotated

from fastapi import Depends, Path, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, SecurityScopes

from api.auth import (
    Caller,
    OutOfReachError,
    authenticate,
    bearer,
    require_account_wide,
    require_any_scope,
    require_key_manager,
    require_scope,
    require_served,
)
from api.schemas.segment_filters import ExportQuery, SegmentsQuery, TimeseriesQuery
from api.services import Services
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.errors import Problem
from pipeline.clock import utc_now
from pipeline.results.filters import InvalidFilterError
from pipeline.results.nights import Nights
from pipeline.results.results import Results
from pipeline.store.catalog.catalog import Catalog

MAX_PER_PAGE = 100
# Of all views of an experiment's results.
RESULTS_PARAMETERS = frozenset(
    name for query in (TimeseriesQuery, SegmentsQuery, ExportQuery) for name in query.model_fields
)


# Plain getters are async, so that they run on the event loop and not in a worker thread.
async def services_of(request: Request) -> Services:
    """Return the services of the app."""
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(services_of)]


async def _catalog(services: ServicesDep) -> Catalog:
    return services.catalog


async def _results(services: ServicesDep) -> Results:
    return services.results


async def _nights(services: ServicesDep) -> Nights:
    return services.nights


async def request_time() -> datetime:
    """Return the time of the request."""
    return utc_now()


CatalogDep = Annotated[Catalog, Depends(_catalog)]
ResultsDep = Annotated[Results, Depends(_results)]
NightsDep = Annotated[Nights, Depends(_nights)]
Now = Annotated[datetime, Depends(request_time)]


def authenticated(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)],
    services: ServicesDep,
    now: Now,
) -> Caller:
    """Authenticate the caller and count the request: 401, 429."""
    note = partial(services.key_refusals.note, request, "api")
    caller = authenticate(credentials.credentials if credentials else None, services.catalog, now, note)
    if not hasattr(request.state, "caller"):
        account = caller.account
        request.state.caller = caller
        request.state.window = services.limits.count(f"account/{account.id}", account.rate_limit_per_minute)
    request.state.window.require_room()
    return caller


async def authorized(scopes: SecurityScopes, caller: Annotated[Caller, Depends(authenticated)]) -> Caller:
    """Require a served account and a key with all of the scopes: 401, 402, 403."""
    require_served(caller)
    require_scope(caller, *scopes.scopes)
    return caller


AuthorizedCaller = Annotated[Caller, Depends(authorized)]


async def authorized_account_wide(caller: AuthorizedCaller) -> Caller:
    """Require all of the scopes and an account-wide key: 401, 402, 403."""
    require_account_wide(caller)
    return caller


async def authorized_by_any(
    scopes: SecurityScopes, caller: Annotated[Caller, Depends(authenticated)]
) -> Caller:
    """Require a served account and a key with at least one of the scopes: 401, 402, 403."""
    require_served(caller)
    require_any_scope(caller, *scopes.scopes)
    return caller


AccountWideCaller = Annotated[Caller, Depends(authorized_account_wide)]


def managing_keys(caller: AccountWideCaller, catalog: CatalogDep) -> Caller:
    """Require all of the scopes and an account-wide key of an owner or admin: 401, 402, 403."""
    require_key_manager(catalog.members.get(caller.account.id, caller.key.member_id))
    return caller


def project_in_path(project_id: str, caller: AuthorizedCaller, catalog: CatalogDep) -> Project:
    """Load the project of `{project_id}`: 404 where the key does not reach it."""
    if not caller.key.reaches(project_id):
        raise OutOfReachError("project", project_id)
    return catalog.projects.get(caller.account.id, project_id)


def project_itself(
    project_id: Annotated[str, Path(alias="id")], caller: AuthorizedCaller, catalog: CatalogDep
) -> Project:
    """Load the project of `{id}`: 404 where the key does not reach it."""
    return project_in_path(project_id, caller, catalog)


def experiment_in_path(
    experiment_id: Annotated[str, Path(alias="id")],
    project: Annotated[Project, Depends(project_in_path)],
    catalog: CatalogDep,
) -> Experiment:
    """Load the experiment of `{id}` in the project of `{project_id}`: 404."""
    return catalog.experiments.get(project.id, experiment_id)


def require_once(request: Request, names: Collection[str]) -> None:
    """Require that no query parameter of those names is given twice; InvalidFilterError."""
    given = Counter(name for name, _ in request.query_params.multi_items() if name in names)
    repeated = [name for name, number in given.items() if number > 1]
    if repeated:
        raise InvalidFilterError(tuple(Problem(name, "may be given once only") for name in repeated))


def experiment_of_results(
    request: Request, experiment: Annotated[Experiment, Depends(experiment_in_path)]
) -> Experiment:
    """Load the experiment of `{id}`: 404; and require each parameter of results once: 422."""
    require_once(request, RESULTS_PARAMETERS)
    return experiment


def holdout_of_results(
    request: Request,
    holdout_id: Annotated[str, Path(alias="id")],
    project: Annotated[Project, Depends(project_in_path)],
    catalog: CatalogDep,
) -> Experiment:
    """Load the holdout of `{id}`, an experiment: 404; and require each parameter of results once: 422."""
    require_once(request, RESULTS_PARAMETERS)
    return catalog.holdouts.get(project.id, holdout_id)


def per_page(per_page: Annotated[int, Query(ge=1, description="Items a page; at most 100.")] = 25) -> int:
    """Return the page size, at most MAX_PER_PAGE."""
    return min(per_page, MAX_PER_PAGE)


PageNumber = Annotated[int, Query(ge=1, description="Number of the page, from 1.")]
PerPage = Annotated[int, Depends(per_page)]

# Each name states the resource and the access; the scope stands beside it.
AccountReader = Annotated[Caller, Security(authorized, scopes=["account:read"])]
AccountAuditor = Annotated[Caller, Security(managing_keys, scopes=["account:read"])]
KeyManager = Annotated[Caller, Security(managing_keys, scopes=["api_keys:write"])]
# One of the two scopes is enough.
CapabilitiesReader = Annotated[
    Caller, Security(authorized_by_any, scopes=["account:read", "experiments:read"])
]
ProjectsReader = Annotated[Caller, Security(authorized, scopes=["projects:read"])]
ProjectsCreator = Annotated[Caller, Security(authorized_account_wide, scopes=["projects:write"])]
ProjectsWriter = Annotated[Caller, Security(authorized, scopes=["projects:write"])]
ReadableProject = Annotated[Project, Security(project_itself, scopes=["projects:read"])]
WritableProject = Annotated[Project, Security(project_itself, scopes=["projects:write"])]
ExperimentsReader = Annotated[Caller, Security(authorized, scopes=["experiments:read"])]
ExperimentsWriter = Annotated[Caller, Security(authorized, scopes=["experiments:write"])]
ProjectOfReadableExperiments = Annotated[Project, Security(project_in_path, scopes=["experiments:read"])]
ProjectOfWritableExperiments = Annotated[Project, Security(project_in_path, scopes=["experiments:write"])]
ReadableExperiment = Annotated[Experiment, Security(experiment_in_path, scopes=["experiments:read"])]
WritableExperiment = Annotated[Experiment, Security(experiment_in_path, scopes=["experiments:write"])]
ResultsReader = Annotated[Caller, Security(authorized, scopes=["results:read"])]
ProjectOfReadableResults = Annotated[Project, Security(project_in_path, scopes=["results:read"])]
ProjectOfReadableWebhooks = Annotated[Project, Security(project_in_path, scopes=["projects:read"])]
ProjectOfWritableWebhooks = Annotated[Project, Security(project_in_path, scopes=["projects:write"])]
ProjectOfWritableRuns = Annotated[Project, Security(project_in_path, scopes=["projects:write"])]
SumsOfReadableExperiment = Annotated[Experiment, Security(experiment_in_path, scopes=["projects:read"])]
SumsOfWritableExperiment = Annotated[Experiment, Security(experiment_in_path, scopes=["projects:write"])]
ExperimentOfReadableResults = Annotated[Experiment, Security(experiment_of_results, scopes=["results:read"])]
HoldoutOfReadableResults = Annotated[Experiment, Security(holdout_of_results, scopes=["results:read"])]
