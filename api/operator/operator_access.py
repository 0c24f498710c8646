"""Access to the operator's endpoints: by a token that only readers of the encryption key can derive."""

import hmac

from fastapi import Request

from api.errors import ApiError
from api.services import Services
from pipeline.encryption_key import operator_token

_SCHEME = "Bearer "


def bearer_token(request: Request) -> str:
    """Return the token of the Authorization header; empty without one."""
    given = request.headers.get("authorization", "")
    return given.removeprefix(_SCHEME) if given.startswith(_SCHEME) else ""


def is_same_token(given: str, expected: str) -> bool:
    """Compare two tokens, in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


def require_operator(request: Request) -> None:
    """Refuse a request without the token of the operator's commands; ApiError.

    The answer is that of a path that does not exist, so that strangers learn nothing.
    """
    services: Services = request.app.state.services
    if not is_same_token(bearer_token(request), operator_token(services.settings)):
        raise ApiError("not_found", f"{request.method} {request.url.path}: Not Found")
