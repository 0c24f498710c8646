"""Pictures of charts, drawn from their Vega-Lite specifications in a process of their own."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Container, Hashable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from anyio import CapacityLimiter, to_thread

from api.made_once import MadeOnce
from pipeline.rollup.publications import Publications

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
# A picture has 20 to 80 kB; beyond it, those that were asked for longest ago are drawn again.
MAX_KEPT_BYTES: Final = 32 * 2**20


class _Key(NamedTuple):
    experiment_id: str
    # The number of changes of its results.
    changes: int
    digest: bytes
    form: str


class ChartPictures:
    """Pictures of charts, by specification: drawn once, one at a time, as each takes a process.

    Those of an experiment go when its results change, as by an erasure, or are deleted.
    """

    def __init__(self, publications: Publications, max_bytes: int = MAX_KEPT_BYTES) -> None:
        """Keep at most `max_bytes`."""
        self._made = MadeOnce(max_bytes)
        self._one_at_a_time = CapacityLimiter(1)
        self._changes = publications.changes
        publications.listen(self._forget)

    @property
    def kept(self) -> tuple[bytes, ...]:
        """Pictures that are kept."""
        return self._made.kept

    async def draw(self, experiment_id: str, specification: Mapping[str, Any], form: str) -> bytes:
        """Draw a chart of an experiment as one of PICTURES."""
        content = json.dumps(specification).encode()
        digest = hashlib.blake2b(content, digest_size=16).digest()
        key = _Key(experiment_id, self._changes(experiment_id), digest, form)
        return await self._made.get(
            key, partial(to_thread.run_sync, _picture, content, form, limiter=self._one_at_a_time)
        )

    def _forget(self, experiment_ids: Container[str]) -> None:
        def is_gone(key: Hashable) -> bool:
            # Replaced results may have a new record alone.
            return (
                isinstance(key, _Key)
                and key.experiment_id in experiment_ids
                and key.changes != self._changes(key.experiment_id)
            )

        self._made.forget(is_gone)


def _picture(specification: bytes, form: str) -> bytes:
    drawn = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", "-c", _PROGRAM, form],
        input=specification,
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return drawn.stdout
