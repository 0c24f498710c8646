"""Permissions of the session's key, required before the content of a form is read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from fastapi.security import HTTPAuthorizationCredentials
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.auth import Caller, require_account_wide, require_scope, require_served
from api.dashboard.operations import error_of
from api.dashboard.page_errors import PageError
from api.dashboard.sessions import SignedIn
from api.deps import authenticated, managing_keys, project_in_path
from api.errors import HANDLED, answer_to
from api.in_process import OperationAnswer
from api.services import Services
from pipeline.clock import utc_now
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.keys import Scope


@dataclass(frozen=True, slots=True)
class Permission:
    """A scope, and what is required of a caller with it, as by the operation that a form asks for."""

    scope: Scope
    require: Callable[[Caller, Request, Catalog], object]


def _reach_project(caller: Caller, request: Request, catalog: Catalog) -> None:
    project_in_path(request.path_params["project_id"], caller, catalog)


def _be_account_wide(caller: Caller, _: Request, __: Catalog) -> None:
    require_account_wide(caller)


def _manage_keys(caller: Caller, _: Request, catalog: Catalog) -> None:
    require_account_wide(caller)
    managing_keys(caller, catalog)


WRITE_EXPERIMENTS: Final = Permission("experiments:write", _reach_project)
CHANGE_PROJECTS: Final = Permission("projects:write", _reach_project)
READ_EXPERIMENTS: Final = Permission("experiments:read", _reach_project)
CREATE_PROJECTS: Final = Permission("projects:write", _be_account_wide)
MANAGE_KEYS: Final = Permission("api_keys:write", _manage_keys)


async def require(request: Request, session: SignedIn, permission: Permission) -> None:
    """Require a permission of the session's key: NotSignedInError, PageError 429, 402, 403, 404."""

    def check() -> None:
        caller = caller_of(request, session, permission.scope)
        permission.require(caller, request, request.app.state.services.catalog)

    with refusals_as_pages(request):
        await run_in_threadpool(check)


async def may(request: Request, session: SignedIn, permission: Permission) -> bool:
    """Tell whether the session's key has a permission; NotSignedInError, PageError 429, 402, 404."""
    try:
        await require(request, session, permission)
    except PageError as error:
        if error.status != 403:
            raise
        return False
    return True


def caller_of(request: Request, session: SignedIn, scope: Scope) -> Caller:
    """Authenticate the session's key, and count the request; ApiError 401, 429, 402, 403."""
    services: Services = request.app.state.services
    credentials = HTTPAuthorizationCredentials(scheme="Bearer", credentials=session.api_token)
    caller = authenticated(request, credentials, services, utc_now())
    require_served(caller)
    require_scope(caller, scope)
    return caller


@contextmanager
def refusals_as_pages(request: Request) -> Iterator[None]:
    """Raise refusals of the API as NotSignedInError, or PageError with its status and words."""
    try:
        yield
    except HANDLED as error:
        refused = answer_to(request, error)
        raise error_of(OperationAnswer(refused.status_code, bytes(refused.body))) from error
