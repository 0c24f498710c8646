"""Arrow C streams: the exchange of rows between Polars and DuckDB without PyArrow.

Polars keeps the types of what it was given until the process ends, and with them everything that their module
refers to. This module must not import DuckDB: its objects would outlive it and be reported as leaked.
"""

from dataclasses import dataclass
from typing import Protocol

import polars as pl


class ArrowStreamable(Protocol):
    """Anything that exports its rows as an Arrow C stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows."""


@dataclass(frozen=True, slots=True)
class FrameStream:
    """Frame that offers only an Arrow C stream: to read a Polars frame directly DuckDB needs PyArrow."""

    frame: pl.DataFrame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows anew for every query."""
        # DuckDB refuses columns without a type, which have nulls and no bitmap of them.
        typed = self.frame.cast({pl.Null: pl.Int8}) if pl.Null in self.frame.dtypes else self.frame
        return typed.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, slots=True)
class QueryStream:
    """Result of a DuckDB query as an Arrow C stream and nothing else."""

    result: ArrowStreamable

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows, once."""
        return self.result.__arrow_c_stream__(requested_schema)
