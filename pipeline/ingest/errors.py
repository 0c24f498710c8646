"""Errors of ingest: none of the events is stored, and a retry may succeed."""

from typing import Final

RETRY_AFTER_SECONDS: Final = 1


class IngestError(Exception):
    """None of the events is stored; send the same ones again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        """Give the reason, and the seconds until a retry may succeed."""
        self.retry_after = retry_after
        super().__init__(message)


class OverloadedError(IngestError):
    """Too many events wait for the disk or for the warehouse, or the service is stopping."""


class NotStoredError(IngestError):
    """The write failed, as on a full disk; nothing of it is stored."""
