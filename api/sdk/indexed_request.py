"""Requests whose headers are looked up in a dictionary, where the framework searches a list."""

from typing import Any

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import Receive, Scope


class IndexedHeaders(Headers):
    """Headers by name; of a name on several lines, the first counts, as in the base class."""

    def __init__(self, scope: Scope) -> None:
        """Take the headers of a scope, whose names are in lower case."""
        super().__init__(scope=scope)
        self._first = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])
        }

    def __getitem__(self, key: str) -> str:
        """Return a value; KeyError."""
        value: str = self._first[key.lower()]
        return value

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - as in the base class
        """Return a value, or the default."""
        return self._first.get(key.lower(), default)

    def __contains__(self, key: object) -> bool:
        """Return whether there is a header of a name."""
        return isinstance(key, str) and key.lower() in self._first


class IndexedRequest(Request):
    """A request with IndexedHeaders."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        self._indexed = IndexedHeaders(scope)

    @property
    def headers(self) -> Headers:
        """The headers."""
        return self._indexed
