"""Configuration for SDKs that decide themselves: in browsers by a public key, on servers by an API key."""

from typing import Any, Final

import msgspec
from fastapi import Request, Response

from api.schemas.sdk import SdkConfig
from api.sdk.access import CountBytes, read_request, sdk_key_of
from api.sdk.admission import VisitServices
from api.sdk.snippet_answers import PRIVATE, cacheable, configuration_of

# Answers of one address differ by the key, which may be in a header.
VARY: Final = "Accept-Encoding, Authorization, X-SDK-Key"
CONFIG_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": SdkConfig},
    304: {"description": "The client has the configuration (`If-None-Match`)."},
}
CONFIG_PARAMETERS: Final[dict[str, Any]] = {
    "parameters": [
        {
            "name": "project_id",
            "in": "query",
            "required": False,
            "schema": {"type": "string"},
            "description": "Required with a bearer key.",
        },
        {
            "name": "If-None-Match",
            "in": "header",
            "required": False,
            "schema": {"type": "string"},
            "description": "The `ETag` of an earlier answer.",
        },
    ]
}


class _NoBody(msgspec.Struct, frozen=True):
    project_id: None = None


async def answer_config(request: Request) -> Response:
    """Answer with a project's configuration; a server gets its experiments as they are stored, too."""
    services: VisitServices = request.app.state.services
    received = await read_request(request, services, _read_nothing)
    cached, is_server = received.cached, received.sender == "server"
    await services.snippet_verification.see(cached, received.page)
    sdk_key = cached.project.sdk_key if is_server else sdk_key_of(request)
    configuration = await configuration_of(cached, sdk_key, with_definitions=is_server)
    return await cacheable(
        request,
        configuration.encoded(received.client, received.city),
        services.encoded_bodies,
        media_type="application/json",
        headers={"Cache-Control": PRIVATE if is_server else configuration.cache_control, "Vary": VARY},
    )


async def _read_nothing(_: CountBytes) -> _NoBody:
    return _NoBody()
