"""Scripts that browsers load: the snippet of a project, an experiment's own script, and tools.

A refusal has its status and a comment: a page's script element then gets its `error` event, and nothing runs.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final, ParamSpec

from fastapi import Request, Response

from api.errors import ANSWERED, ERROR_CODES, ApiError, api_error
from api.middleware.proxies import client_address
from api.sdk.access import INACTIVE, project_of_key
from api.sdk.admission import VisitServices
from api.sdk.script_files import read_script, snippet_script
from api.sdk.sending_page import page_of
from api.sdk.snippet_answers import PUBLIC, cacheable, configuration_of
from engine.design.experiment import Experiment
from pipeline.assignment.browser_config import custom_script_version
from pipeline.assignment.project_cache import CachedProject
from pipeline.events.attributes import Client
from pipeline.store.catalog.errors import NotFoundError

MEDIA_TYPE: Final = "application/javascript; charset=utf-8"
# The address of a script has the version of its code.
IMMUTABLE: Final = "public, max-age=31536000, immutable"
# Pages of every site may load the scripts, also those that are isolated from other origins.
_OPEN: Final = {"Cross-Origin-Resource-Policy": "cross-origin", "X-Content-Type-Options": "nosniff"}
_SCRIPT: Final = {"content": {"application/javascript": {"schema": {"type": "string"}}}}
SCRIPT_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {**_SCRIPT, "description": "The script."},
    304: {"description": "The client has the script (`If-None-Match`)."},
    402: {**_SCRIPT, "description": "A comment: `account_inactive`."},
    404: {**_SCRIPT, "description": "A comment: `not_found`."},
    503: {**_SCRIPT, "description": "A comment: `unavailable`."},
}

_Arguments = ParamSpec("_Arguments")
_Answering = Callable[_Arguments, Awaitable[Response]]


def _refused_by_comment(answer: _Answering[_Arguments]) -> _Answering[_Arguments]:
    """Answer a refusal with a comment that names its code."""

    @wraps(answer)
    async def answer_or_refuse(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> Response:
        try:
            return await answer(*arguments, **named)
        except ANSWERED as error:
            return _refusal(api_error(error))

    return answer_or_refuse


def _refusal(error: ApiError) -> Response:
    headers = {**_OPEN, **error.headers, "Cache-Control": "no-store"}
    status = ERROR_CODES[error.code].status
    return Response(f"/* Truelift: {error.code} */\n", status, headers, media_type=MEDIA_TYPE)


@_refused_by_comment
async def answer_snippet(request: Request, sdk_key: str) -> Response:
    """Answer with the built script and the configuration of a project."""
    services: VisitServices = request.app.state.services
    cached = await _served_project(request, services, sdk_key)
    await services.snippet_verification.see(cached, page_of(request))
    configuration = await configuration_of(cached, sdk_key, is_snippet=True)
    location = services.locations.locate(request.headers, client_address(request))
    encoded = configuration.encoded(Client.of_headers(request.headers, location), location.city)
    return await _script(
        request, services, snippet_script(configuration.content, encoded), configuration.cache_control
    )


@_refused_by_comment
async def answer_custom_script(request: Request, sdk_key: str, experiment_id: str) -> Response:
    """Answer with the `custom_js` of an experiment that is shown, in a scope of its own."""
    services: VisitServices = request.app.state.services
    cached = await _served_project(request, services, sdk_key)
    code = _custom_code(cached, experiment_id)
    # A page may still ask for a version before the last change.
    is_current = request.query_params.get("v") == custom_script_version(code)
    content = f"(function () {{\n{code}\n}}).call(window);\n".encode()
    return await _script(request, services, content, IMMUTABLE if is_current else PUBLIC)


@_refused_by_comment
async def answer_tool(request: Request, sdk_key: str, name: str) -> Response:
    """Answer with the script of a tool, which is the same for all projects."""
    services: VisitServices = request.app.state.services
    await _served_project(request, services, sdk_key)
    return await _script(request, services, read_script(name), PUBLIC)


async def _script(request: Request, services: VisitServices, content: bytes, cache_control: str) -> Response:
    return await cacheable(
        request,
        content,
        services.encoded_bodies,
        media_type=MEDIA_TYPE,
        headers={**_OPEN, "Cache-Control": cache_control},
    )


async def _served_project(request: Request, services: VisitServices, sdk_key: str) -> CachedProject:
    """Find the project of a public key; NotFoundError, ApiError `account_inactive`.

    The request is counted, but not refused beyond the limit: the visitor would silently see no experiment,
    while events that are refused are sent again.
    """
    cached = await project_of_key(services, sdk_key)
    try:
        await services.admission(request).count_request(cached.project.id)
    except ApiError as error:
        if error.code != "rate_limited":
            raise
    if not cached.account.is_served:
        raise ApiError("account_inactive", INACTIVE)
    return cached


def _custom_code(cached: CachedProject, experiment_id: str) -> str:
    shown = (*cached.experiments, *cached.rollouts)
    experiment: Experiment | None = next((one for one in shown if one.id == experiment_id), None)
    if experiment is None or not experiment.custom_js:
        raise NotFoundError("experiment", experiment_id)
    return experiment.custom_js
