"""Pages that send requests, as the headers of their browsers tell."""

from typing import Final

from fastapi import Request

_HIDDEN: Final = "null"


def page_of(request: Request) -> str | None:
    """Return the origin or the address of the page that sent a request; None where it is hidden.

    Browsers send Origin with every POST, beacons included, but not to load a script; it is `null` where the
    page hides its address.
    """
    origin = request.headers.get("origin", _HIDDEN)
    return request.headers.get("referer") if origin == _HIDDEN else origin
