"""Submissions: the events of one request each, and the answers to their callers."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from pipeline.ingest.spooled_events import EncodedRows
from pipeline.store.event_columns import EventRow


class Submission(msgspec.Struct, frozen=True, eq=False):
    """Events of one request, their size in memory, and the future that resolves once they are stored."""

    project_id: str
    rows: Sequence[EventRow]
    size: int
    loop: asyncio.AbstractEventLoop
    stored: asyncio.Future[None]
    # The rows as the spool has them, where they came encoded.
    encoded: EncodedRows | None = None


def resolve(submissions: Sequence[Submission], error: Callable[[], Exception] | None = None) -> None:
    """Answer the callers, with one call into each event loop; `error` builds the refusal of each."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Submission]] = {}
    for submission in submissions:
        by_loop.setdefault(submission.loop, []).append(submission)
    for loop, group in by_loop.items():
        # The loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, group, error)


def _resolve(submissions: Iterable[Submission], error: Callable[[], Exception] | None) -> None:
    for submission in submissions:
        # A client that disconnected has cancelled its future; its events are stored all the same.
        if submission.stored.done():
            continue
        if error is None:
            submission.stored.set_result(None)
        else:
            submission.stored.set_exception(error())
