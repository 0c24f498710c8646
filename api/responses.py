"""Responses serialized in the thread of their endpoint."""

from typing import Any

from fastapi import Response
from pydantic import TypeAdapter


def as_response(
    result: object, adapter: TypeAdapter[Any] | None, status: int = 200, injected: Response | None = None
) -> Response:
    """Serialize an endpoint's result as the framework would; `adapter` is None for an empty body.

    `injected` is the response whose headers the endpoint has set.
    """
    if isinstance(result, Response):
        return result
    headers = {
        name: value
        for name, value in (injected.headers.items() if injected else ())
        if name != "content-length"
    }
    if adapter is None:
        return Response(status_code=status, headers=headers)
    content = adapter.dump_json(adapter.validate_python(result, from_attributes=True), by_alias=True)
    return Response(content, status, headers, media_type="application/json")
