"""Static files of the dashboard, at addresses that change with their content."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.page_threads import on_page_thread

FOLDER: Final = Path(__file__).parent / "static"
TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
IMMUTABLE: Final = "public, max-age=31536000, immutable"
SWAGGER: Final = frozenset({"swagger-ui-bundle.js", "swagger-ui.css"})
PACKAGES: Final = dict.fromkeys(SWAGGER, "fastapi-swagger")


@cache
def address_of(name: str) -> str:
    """Return the address of a file, with a digest of its content."""
    content = version_of(PACKAGES[name]).encode() if name in PACKAGES else (FOLDER / name).read_bytes()
    return f"/static/{hashlib.blake2b(content, digest_size=8).hexdigest()}/{name}"


@cache
def version_of(package: str) -> str:
    """Return the installed version of a package."""
    from importlib.metadata import version  # noqa: PLC0415 - slow, and needed for pages alone

    return version(package)


async def answer_static(request: Request) -> Response:
    """Answer with a file, whichever digest is asked for: an old page still finds it."""
    name = request.path_params["name"]
    content = await on_page_thread(request, _content_of, name)
    if content is None:
        return Response("not found", status_code=404, media_type="text/plain")
    is_current = request.url.path == address_of(name)
    headers = {
        "Cache-Control": IMMUTABLE if is_current else "no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(content, media_type=TYPES[Path(name).suffix], headers=headers)


def _content_of(name: str) -> bytes | None:
    # What anybody may ask for is no key of what is kept.
    if name not in PACKAGES and name not in {path.name for path in FOLDER.iterdir()}:
        return None
    return _read(name)


@cache
def _read(name: str) -> bytes:
    if name in SWAGGER:
        return files("fastapi_swagger").joinpath("resources", name).read_bytes()
    return (FOLDER / name).read_bytes()
