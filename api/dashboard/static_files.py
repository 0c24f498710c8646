"""Static files of the dashboard, at addresses that change with their content."""

import hashlib
import subprocess
import sys
import threading
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
# Vega, Vega-Lite and Vega-Embed in one script, from the package vl-convert.
VEGA: Final = "vega.js"
SWAGGER: Final = frozenset({"swagger-ui-bundle.js", "swagger-ui.css"})
PACKAGES: Final = {VEGA: "vl-convert-python"} | dict.fromkeys(SWAGGER, "fastapi-swagger")
# In a process of its own: the JavaScript engine takes memory that a service does not give back.
_BUNDLE: Final = "import sys, vl_convert; sys.stdout.write(vl_convert.javascript_bundle())"
_BUNDLE_SECONDS: Final = 120
_reading: Final = threading.Lock()


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
    # Otherwise many first requests at once would bundle as often.
    with _reading:
        return _read(name)


@cache
def _read(name: str) -> bytes:
    if name == VEGA:
        return _vega()
    if name in SWAGGER:
        return files("fastapi_swagger").joinpath("resources", name).read_bytes()
    return (FOLDER / name).read_bytes()


def _vega() -> bytes:
    bundle = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", "-c", _BUNDLE], capture_output=True, check=True, timeout=_BUNDLE_SECONDS
    )
    return bundle.stdout
