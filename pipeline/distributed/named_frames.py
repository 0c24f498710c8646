"""Frames of several kinds as the rows of one: the kind, the number of rows, and the content as Parquet."""

import io
from collections.abc import Iterable
from typing import Final

import polars as pl

SCHEMA: Final = pl.Schema({"kind": pl.String, "rows": pl.Int64, "content": pl.Binary})


def pack(frames: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Pack the frames that have rows, each with its kind."""
    packed = [(kind, rows.height, _parquet(rows)) for kind, rows in frames if rows.height]
    return pl.DataFrame(packed, schema=SCHEMA, orient="row")


def unpack(content: bytes) -> pl.DataFrame:
    """Read the content of a row."""
    return pl.read_parquet(io.BytesIO(content))


def _parquet(rows: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    rows.write_parquet(file)
    return file.getvalue()
