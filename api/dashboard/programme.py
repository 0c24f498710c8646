"""Page of a project's programme: its ended tests together."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.operations import ask, read
from api.dashboard.page_answers import render, signed_in
from api.dashboard.sessions import SignedIn

_ENDED = ("completed", "archived")
_PER_PAGE = 100


@signed_in
async def show_programme(request: Request, session: SignedIn) -> Response:
    """Show the win rate, all winners together, and the lift of each ended test."""
    path = f"/projects/{quote(request.path_params['project_id'], safe='')}"
    programme = (await read(request, session, f"{path}/programme"))["data"]
    names = await _names(request, session, path) if programme["metrics"] else {}
    return await render(
        request, "programme.html", session=session, address=path, programme=programme, names=names
    )


async def _names(request: Request, session: SignedIn, path: str) -> dict[str, str]:
    """Read the names of the ended experiments by id; none where the key may not read experiments."""
    names: dict[str, str] = {}
    for status in _ENDED:
        page, is_last = 1, False
        while not is_last:
            query = {"status": status, "page": page, "per_page": _PER_PAGE}
            answer = await ask(request, session, f"{path}/experiments", query=query)
            content = answer.content or {}
            if answer.status != 200:
                return names
            names |= {one["id"]: one["name"] for one in content["data"]}
            is_last = page * _PER_PAGE >= content["meta"]["total"]
            page += 1
    return names
