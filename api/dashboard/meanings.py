"""Page of what recommendations, reasons and health checks mean, to which results link."""

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.page_answers import public, render
from engine.analysis.results.verdict_words import PAGE, sections


@public
async def show_meanings(request: Request) -> Response:
    """Show what each says, under its code."""
    return await render(request, "verdicts.html", sections=sections(), page=PAGE)
