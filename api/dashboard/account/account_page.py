"""Page of the account: usage, members, and API keys where the session's key manages them."""

from typing import Any, Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.drafts.field_problems import Problems
from api.dashboard.operations import ask, content_of, read
from api.dashboard.page_answers import render, signed_in
from api.dashboard.sessions import SignedIn
from pipeline.store.catalog.keys import SCOPES
from pipeline.store.catalog.members import ROLES

MOST_PROJECTS: Final = 100


@signed_in
async def show_account(request: Request, session: SignedIn) -> Response:
    """Show usage and members, and the keys where the session's key manages them."""
    return await account_page(request, session)


async def account_page(  # noqa: PLR0913 - what a page shows
    request: Request,
    session: SignedIn,
    *,
    created: dict[str, Any] | None = None,
    key_form: FormData | None = None,
    key_problems: Problems | None = None,
    member_form: FormData | None = None,
    member_problems: Problems | None = None,
    status: int = 200,
) -> Response:
    """Render the page, with the new key or with a form as it was sent and its problems."""
    usage = (await read(request, session, "/account/usage"))["data"]
    members = (await read(request, session, "/account/members"))["data"]
    return await render(
        request,
        "account.html",
        session=session,
        status=status,
        usage=usage,
        members=members,
        roles=ROLES,
        keys=await _listed(request, session, "/account/api_keys"),
        projects=await _listed(request, session, "/projects", per_page=MOST_PROJECTS) or [],
        scopes=SCOPES,
        created=created,
        key_form=key_form or FormData(),
        key_problems=key_problems or {},
        member_form=member_form or FormData(),
        member_problems=member_problems or {},
    )


async def _listed(
    request: Request, session: SignedIn, path: str, **query: int
) -> list[dict[str, Any]] | None:
    """Read a list; None where the key may not."""
    answer = await ask(request, session, path, query=query)
    listed: list[dict[str, Any]] | None = content_of(answer)["data"] if answer.status == 200 else None
    return listed
