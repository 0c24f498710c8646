"""An ingest that runs, its writer held before a write, and many requests to it at once."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from pipeline.store.spool.spool import Place, Spool
from pipeline.store.warehouse.connection import Warehouse


@contextmanager
def running(warehouse: Warehouse, settings: Settings) -> Iterator[Ingest]:
    started = Ingest(warehouse, settings)
    started.start()
    try:
        yield started
    finally:
        started.stop()


async def submit_all(ingest: Ingest, *submitted: tuple[str, list[EventRow]]) -> list[BaseException | None]:
    return await asyncio.gather(
        *(ingest.submit(project_id, rows) for project_id, rows in submitted), return_exceptions=True
    )


@dataclass(frozen=True, slots=True)
class HeldWriter:
    """A writer that stays before its first write until `release` is set."""

    has_begun: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


@contextmanager
def a_held_writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldWriter]:
    writer = HeldWriter()
    append = Spool.append

    def held_append(spool: Spool, first_seq: int, last_seq: int, payload: bytes) -> Place:
        writer.has_begun.set()
        writer.release.wait(30)
        return append(spool, first_seq, last_seq, payload)

    monkeypatch.setattr(Spool, "append", held_append)
    yield writer
    writer.release.set()


async def queued(*submissions: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    """Start submissions; each is in the queue once its task has run to its first wait."""
    tasks = [asyncio.create_task(submission) for submission in submissions]
    await asyncio.sleep(0)
    return tasks
