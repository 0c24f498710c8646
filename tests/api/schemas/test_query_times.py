"""Times in queries: one format, and no numbers."""

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from api.schemas.query_times import QueryTime

_READER: TypeAdapter[datetime] = TypeAdapter(QueryTime)


@pytest.mark.parametrize("text", ["2026-03-01T09:30:00Z", "2026-03-01T10:30:00+01:00", "2026-03-01T09:30"])
def test_a_time_is_read_with_its_offset_or_in_utc(text: str) -> None:
    assert _READER.validate_python(text) == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0.5", "-1", "1772357400", "yesterday", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="ISO 8601"):
        _READER.validate_python(text)
