"""Requests whose headers are looked up in a dictionary, where the framework searches a list."""

from collections.abc import Mapping

from fastapi import Request
from starlette.types import Receive, Scope


class IndexedRequest(Request):
    """A request whose headers are known by their names in lower case alone."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        # Of a name on several lines, the first counts, as in the framework.
        self._first = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])
        }

    @property
    def headers(self) -> Mapping[str, str]:  # type: ignore[override] # fewer methods than the framework's
        """The headers."""
        return self._first
