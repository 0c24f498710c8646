"""Times in queries: ISO 8601, in UTC where they name no offset."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator


def _time_of(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("must be a time in ISO 8601, such as 2026-03-01T09:30:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# Pydantic alone takes numbers, too, as seconds or milliseconds by their size.
QueryTime = Annotated[datetime, BeforeValidator(_time_of)]
