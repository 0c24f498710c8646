"""Bytes and requests of the browser script: its core, each part, and whole answers, beside GrowthBook's."""

import gzip
import tempfile
from pathlib import Path
from typing import Any

import brotli

from api.sdk.script_files import CORE, FOLDER, read_script
from benchmarks.browser.page_load import GROWTHBOOK, growthbook_files


def run() -> list[dict[str, Any]]:
    """Compress each file as strongly as the service does; ratios are to GrowthBook's script."""
    core = read_script(CORE)
    parts = {path.stem: path.read_bytes() for path in sorted((FOLDER / "parts").glob("*.js"))}
    with tempfile.TemporaryDirectory() as folder:
        _, peer = growthbook_files(Path(folder))["/auto.min.js"]
    answers = {
        "core, for experiments in CSS": core,
        "core, for changes of elements": core + parts["changes"],
        "core and every part": core + b"".join(parts.values()),
        f"GrowthBook {GROWTHBOOK} auto.min.js": peer,
    }
    # A peer asks for its configuration in a second one.
    rows = [row(name, content, peer, requests=1 + (content is peer)) for name, content in answers.items()]
    # A part is compressed with the core: what it adds.
    added = [part_row(name, core, content) for name, content in parts.items()]
    return [*rows, *added]


def row(name: str, content: bytes, peer: bytes, *, requests: int) -> dict[str, Any]:
    """Lay out what a page loads."""
    size = len(gzip.compress(content, 9))
    return {
        "file": name,
        "bytes": f"{len(content):,}",
        "gzip": f"{size:,}",
        "brotli": f"{len(brotli.compress(content)):,}",
        "requests": requests,
        "gzip, to GrowthBook": f"{size / len(gzip.compress(peer, 9)):.2f}",
    }


def part_row(name: str, core: bytes, part: bytes) -> dict[str, Any]:
    """Lay out what a part adds to the answer with the core."""
    return {
        "file": f"+ {name}",
        "bytes": f"{len(part):,}",
        "gzip": f"{len(gzip.compress(core + part, 9)) - len(gzip.compress(core, 9)):,}",
        "brotli": f"{len(brotli.compress(core + part)) - len(brotli.compress(core)):,}",
        "requests": 0,
        "gzip, to GrowthBook": "",
    }
