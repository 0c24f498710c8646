"""Rows of parts as Arrow record batches: the number of the part, and its rows in Arrow's own file format.

Spark has no unsigned integers, so the rows are opaque to it.
"""

import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from pipeline.distributed.engine import Step
from pipeline.distributed.event_files import EventTable, read_batches

# In the form of Spark's schemas.
SPARK_SCHEMA: Final = "part int, content binary"
_SCHEMA: Final = pa.schema([("part", pa.int32()), ("content", pa.binary())])


def split_file(step: Step, path: Path | EventTable) -> Iterator[Mapping[int, pl.DataFrame]]:
    """Yield the rows of a file of events that `step` sends by part, batch after batch.

    Columns without any value are left out.
    """
    for events in read_batches(path, step.columns):
        rows = step.split(events).select(*step.sent, "part")
        by_part = rows.partition_by("part", as_dict=True, include_key=False)
        yield {
            int(str(part)): of_part.select(one for one in of_part if one.null_count() < of_part.height)
            for (part,), of_part in by_part.items()
        }


def put_together(step: Step, pieces: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put the rows of a part together, with all columns."""
    return pl.concat([step.sent.to_frame(), *pieces], how="diagonal")


def split_files(step: Step, files: Iterable[Path | EventTable]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files of events that `step` sends, a row for each part."""
    for file in files:
        for by_part in split_file(step, file):
            yield _batch([*by_part], [_pack(of_part) for of_part in by_part.values()])


def apply_part(step: Step, sent: pa.Table) -> pa.Table:
    """Compute the result of a part from all rows that were sent to it, as one row."""
    part = int(sent["part"][0].as_py())
    rows = put_together(step, (unpack(content.as_py()) for content in sent["content"]))
    return pa.Table.from_batches([_batch([part], [_pack(step.apply(part, rows))])])


def unpack(content: bytes) -> pl.DataFrame:
    """Read rows from Arrow's file format."""
    return pl.read_ipc(io.BytesIO(content))


def _pack(rows: pl.DataFrame) -> bytes:
    return rows.write_ipc(None, compression="lz4").getvalue()


def _batch(parts: list[int], contents: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(parts, pa.int32()), pa.array(contents, pa.binary())], schema=_SCHEMA)
