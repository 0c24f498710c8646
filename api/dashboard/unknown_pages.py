"""Pages that do not exist: a browser is answered with a page, other programs with the error of the API."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from api.dashboard.page_answers import error_page, public
from api.dashboard.sessions import find_session

_UNKNOWN = "There is no page at this address. It may have been mistyped, or what was here is gone."


@public
async def show_unknown(request: Request) -> Response:
    """Say that there is no such page, and where to go on."""
    return await error_page(request, 404, _UNKNOWN, await find_session(request))


class UnknownPages(Route):
    """Takes each request for a page; last of the routes."""

    def __init__(self) -> None:
        """Take every path."""
        super().__init__("/{path:path}", show_unknown)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Take requests that accept pages, and leave others to the errors of the API."""
        accepted = next((value for name, value in scope.get("headers", ()) if name == b"accept"), b"")
        is_page = scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} and b"text/html" in accepted
        return super().matches(scope) if is_page else (Match.NONE, {})
