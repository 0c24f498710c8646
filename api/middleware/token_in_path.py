"""Tokens of share links in paths: each moves into the request's state before anything can log it."""

from typing import Final

from starlette.types import Scope

SHARED: Final = "/shared/"
_HIDDEN: Final = SHARED + "***"


def move_token(scope: Scope) -> None:
    """Take the token out of `/shared/<token>`; the scope is changed in place, as the server logs it."""
    path: str = scope["path"]
    if path.startswith(SHARED):
        scope.setdefault("state", {})["share_token"] = path[len(SHARED) :]
        scope["path"], scope["raw_path"] = _HIDDEN, _HIDDEN.encode()
