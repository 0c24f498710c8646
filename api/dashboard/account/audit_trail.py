"""Page of the audit trail: who changed what, when and in which project."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, get_args
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.account.account_page import MOST_PROJECTS
from api.dashboard.formats import words
from api.dashboard.operations import read
from api.dashboard.page_answers import render, signed_in
from api.dashboard.page_errors import PageError
from api.dashboard.projects import pages_of
from api.dashboard.sessions import SignedIn
from api.schemas.account import SubjectType
from pipeline.store.catalog.audit import Action

_PER_PAGE: Final = 50
# Query parameters of the page; days become times of the API.
_ASKED: Final = ("subject_id", "subject_type", "action", "actor", "project_id")
_DAYS: Final = ("from", "to")


@signed_in
async def show_audit_trail(request: Request, session: SignedIn) -> Response:
    """Show a page of the entries of the account that are asked for, newest first."""
    given = {name: request.query_params.get(name) or "" for name in (*_ASKED, *_DAYS)}
    asked = {name: given[name] for name in _ASKED if given[name]} | _times(given)
    query = {**asked, "page": request.query_params.get("page") or None, "per_page": _PER_PAGE}
    listed = await read(request, session, "/account/audit", query)
    keys = (await read(request, session, "/account/api_keys"))["data"]
    projects = (await read(request, session, "/projects", {"per_page": MOST_PROJECTS}))["data"]
    return await render(
        request,
        "audit.html",
        session=session,
        entries=listed["data"],
        pages=pages_of(listed["meta"]),
        given=given,
        address=urlencode({name: value for name, value in given.items() if value}),
        actions=[(one, words(one)) for one in get_args(Action)],
        subject_types=[(one, words(one)) for one in get_args(SubjectType)],
        keys={one["id"]: one["name"] for one in keys},
        projects={one["id"]: one["name"] for one in projects},
    )


def _times(given: Mapping[str, str]) -> dict[str, str]:
    """Return the times of the days that are asked for, both included, in UTC; PageError 422."""
    try:
        days = {name: date.fromisoformat(given[name]) for name in _DAYS if given[name]}
        if "to" in days:
            days["to"] += timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise PageError(422, "A day is written as 2026-11-20.") from error
    names = {"from": "since", "to": "until"}
    return {names[name]: datetime.combine(day, time(), UTC).isoformat() for name, day in days.items()}
