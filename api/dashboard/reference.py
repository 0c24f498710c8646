"""Page of the API reference: Swagger UI over the document that the service answers."""

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.page_answers import public, render


@public
async def show_reference(request: Request) -> Response:
    """Show every operation; a key that is entered there stays in the page."""
    return await render(request, "reference.html")
