"""Scripts for the pages of a project, by its public key."""

from typing import Final

from fastapi import Request, Response

from api.routers import router_at
from api.sdk.script_files import DEBUG, PREVIEW
from api.sdk.scripts import SCRIPT_RESPONSES, answer_custom_script, answer_snippet, answer_tool

router: Final = router_at("/sdk/v1", tags=["SDK"], responses=SCRIPT_RESPONSES)


@router.get("/{sdk_key}.js", response_class=Response)
@router.head("/{sdk_key}.js", include_in_schema=False)
async def get_snippet(request: Request, sdk_key: str) -> Response:
    """Get the snippet with the project's configuration, in one script."""
    return await answer_snippet(request, sdk_key)


@router.get("/{sdk_key}/preview.js", response_class=Response)
@router.head("/{sdk_key}/preview.js", include_in_schema=False)
async def get_preview_script(request: Request, sdk_key: str) -> Response:
    """Get the script that the snippet loads in a preview."""
    return await answer_tool(request, sdk_key, PREVIEW)


@router.get("/{sdk_key}/debug.js", response_class=Response)
@router.head("/{sdk_key}/debug.js", include_in_schema=False)
async def get_debug_script(request: Request, sdk_key: str) -> Response:
    """Get the script of the panel that shows what happens on a page."""
    return await answer_tool(request, sdk_key, DEBUG)


@router.get("/{sdk_key}/{experiment_id}.js", response_class=Response)
@router.head("/{sdk_key}/{experiment_id}.js", include_in_schema=False)
async def get_experiment_script(
    request: Request,
    sdk_key: str,
    experiment_id: str,
    v: str | None = None,  # noqa: ARG001 - read from the request
) -> Response:
    """Get the `custom_js` of a running or paused experiment; caches keep its version `v` for ever."""
    return await answer_custom_script(request, sdk_key, experiment_id)
