"""Submissions: the events of one request each, and the answers to their callers."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from pipeline.store.event_columns import EventRow
from pipeline.taskless import Tell

logger = logging.getLogger(__name__)


class Submission(msgspec.Struct, frozen=True, eq=False):
    """Events of one request, and their size in memory; `tell` is called in `loop` once they are stored."""

    project_id: str
    rows: Sequence[EventRow]
    size: int
    loop: asyncio.AbstractEventLoop
    tell: Tell


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
        try:
            submission.tell(None if error is None else error())
        except Exception:
            logger.exception("a sender of events of project %s was not answered", submission.project_id)
