"""Switch between projects: the same page of another project, or its list of experiments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.dashboard.sessions import SignedIn
from api.services import Services
from pipeline.clock import utc_now
from pipeline.store.catalog.keys import RefusedKey

# Pages that every project has, by what follows the project in their address.
_PAGES: Final = ("/programme", "/installation", "/experiments/new")
# Of the list: what means the same in each project.
_QUERY: Final = ("status", "verdict", "sort")
_PROJECT: Final = "/projects/"


@dataclass(frozen=True, slots=True)
class ProjectSwitch:
    """The name of the page's project, None for a page of none, and the others: name and address of each."""

    name: str | None
    others: tuple[tuple[str, str], ...]


async def switch_of(request: Request, session: SignedIn) -> ProjectSwitch | None:
    """Offer the projects that the session's key reaches; None without one, or for a key that reads none."""
    return await run_in_threadpool(_switch, request, session)


def address_in(project_id: str, path: str, query: Mapping[str, str]) -> str:
    """Return the address of a page in another project: the same page, or the list of experiments."""
    home = _PROJECT + quote(project_id, safe="")
    inside = "/" + path.removeprefix(_PROJECT).partition("/")[2] if path.startswith(_PROJECT) else ""
    if inside in _PAGES:
        return home + inside
    kept = {name: query[name] for name in _QUERY if query.get(name)} if inside == "/" else {}
    return f"{home}?{urlencode(kept)}" if kept else home


def _switch(request: Request, session: SignedIn) -> ProjectSwitch | None:
    services: Services = request.app.state.services
    key = services.catalog.keys.find_by_token(session.api_token, now=utc_now())
    if isinstance(key, RefusedKey) or "projects:read" not in key.scopes:
        return None
    names = services.catalog.projects.names(key.account_id, only=key.project_ids)
    here = request.path_params.get("project_id")
    others = tuple(
        (name, address_in(one, request.url.path, request.query_params)) for one, name in names if one != here
    )
    name = next((name for one, name in names if one == here), None)
    return ProjectSwitch(name, others) if names else None
