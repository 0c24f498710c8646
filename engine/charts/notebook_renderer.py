"""Renderer of charts in notebooks: the specification, and a picture for readers without Vega."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final

from engine.charts.altair_module import load_altair
from engine.charts.pictures import spec_png, spec_svg

__all__ = ["draw_in_notebooks"]

# As altair's renderer "mimetype", but with a MIME type that ends in +json, as the format requires.
_VEGA: Final = "application/vnd.vegalite.v6+json"
# Characters of an SVG beyond which a PNG is smaller, such as that of thousands of points.
_MOST_OF_SVG: Final = 100_000


def draw_in_notebooks() -> None:
    """Make notebooks keep charts as data and as a picture, without a script or a request outside.

    Jupyter and VS Code draw the data; pages such as GitHub's, which have no Vega, show the picture: an SVG,
    or a PNG of a chart with very many marks.
    """
    renderers = load_altair().renderers
    renderers.register("truelift", _as_data_and_picture)
    renderers.enable("truelift")


def _as_data_and_picture(spec: dict[str, Any], **_: object) -> dict[str, Any]:
    svg = spec_svg(spec)
    picture = (
        {"image/svg+xml": svg}
        if len(svg) <= _MOST_OF_SVG
        else {"image/png": b64encode(_compressed(spec_png(spec))).decode()}
    )
    return {_VEGA: spec, **picture, "text/plain": "A chart"}


def _compressed(png: bytes) -> bytes:
    """Compress the pixels of a PNG as far as they go: vl-convert does it fast, in four times the bytes."""
    chunks = list(_chunks(png))
    pixels = b"".join(content for kind, content in chunks if kind == b"IDAT")
    rest = [(kind, content) for kind, content in chunks if kind not in {b"IDAT", b"IEND"}]
    written = [*rest, (b"IDAT", zlib.compress(zlib.decompress(pixels), 9)), (b"IEND", b"")]
    return png[:8] + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in written
    )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and content of each chunk; PNG (third edition), section 5."""
    place = 8
    while place < len(png):
        (size,) = struct.unpack_from(">I", png, place)
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        place += size + 12
