"""Pictures of charts, drawn from their Vega-Lite specifications in a process of their own."""

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from anyio import CapacityLimiter, to_thread

PICTURES: Final = {"svg": "image/svg+xml", "png": "image/png"}
# In a process of its own: the JavaScript engine takes memory that a service does not give back.
_PROGRAM: Final = """
import json, sys
from types import SimpleNamespace
from engine.charts import pictures
specification = json.load(sys.stdin)
chart = SimpleNamespace(to_dict=lambda: specification)
drawn = getattr(pictures, f"chart_{sys.argv[1]}")(chart)
sys.stdout.buffer.write(drawn if isinstance(drawn, bytes) else drawn.encode())
"""
_SECONDS: Final = 60


async def draw_picture(specification: Mapping[str, Any], form: str) -> bytes:
    """Draw a chart as one of PICTURES; one at a time, as each takes a process."""
    return await to_thread.run_sync(_picture, specification, form, limiter=_limiter())


@cache
def _limiter() -> CapacityLimiter:
    return CapacityLimiter(1)


def _picture(specification: Mapping[str, Any], form: str) -> bytes:
    drawn = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", "-c", _PROGRAM, form],
        input=json.dumps(specification).encode(),
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return drawn.stdout
