"""File of sums: Parquet with all rows of an experiment, within limits."""

from pathlib import Path
from typing import Final

import polars as pl

from engine.errors import InvalidDesignError, Problem
from pipeline.results.outside.outside_sums import known_columns

MOST_BYTES: Final = 64 * 2**20
# Cells are few; a small file may still unfold to any number of rows.
MOST_ROWS: Final = 2_000_000


def read_table(path: Path) -> pl.DataFrame:
    """Read the table of a file; InvalidDesignError where it is none, or has too many rows."""
    try:
        found = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        names = found.collect_schema().names()
        if others := sorted(set(names) - known_columns()):
            raise InvalidDesignError([Problem(name, "is no column of sums") for name in others])
        rows = found.select(pl.len()).collect().item()
        if rows > MOST_ROWS:
            message = f"has {rows:,} rows; at most {MOST_ROWS:,} are taken, so split by fewer dimensions"
            raise InvalidDesignError([Problem("body", message)])
        return found.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InvalidDesignError(
            [Problem("body", f"is no Parquet file that can be read: {error}")]
        ) from error
