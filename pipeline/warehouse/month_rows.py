"""Rows that the statements of a warehouse read in a month, within the limit of its description."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.watermarks import NEVER_IMPORTED, read_watermarks, write_watermark


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthRows:
    """Rows that the statements of a source of a project read in the month, in UTC; at most `most` of them."""

    data_dir: Path
    project_id: str
    source: str
    most: int | None

    def charge(self, rows: int, *, now: datetime) -> None:
        """Add the rows of a statement before it reads them, so that one that fails or is killed counts too.

        UnreadableSourceError where they would be more than `most`; then none are added.
        """
        month = f"{now.astimezone(UTC):%Y-%m}"
        before = read_watermarks(self.data_dir, self.project_id).get(self.source, NEVER_IMPORTED)
        read = before.month_rows if before.month == month else 0
        if self.most is not None and read + rows > self.most:
            raise UnreadableSourceError(
                f"the statements of {self.source} read {read:,} rows in {month}, {rows:,} more are above "
                f"max_rows_a_month, {self.most:,}: wait for the next month in UTC, read fewer, or allow more"
            )
        after = replace(before, month=month, month_rows=read + rows)
        write_watermark(self.data_dir, self.project_id, self.source, after)
