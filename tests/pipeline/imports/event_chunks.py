"""Chunks of a table of events, and the reception that imports give them."""

from collections.abc import Mapping

import polars as pl

from pipeline.events.decode import RequestContext
from pipeline.events.project_ids import ProjectIds
from pipeline.sources.tables import LINE, Chunk

RECEPTION = RequestContext(
    received_us=1_800_000_000_000_000,
    project_ids=ProjectIds({"exp_1": frozenset({"var_a"})}, frozenset({"goal_1"})),
    sender="import",
    max_age_us=None,
)
EXPOSURE = {
    "type": "exposure",
    "event_id": "e1",
    "visitor_id": "v1",
    "timestamp": "2017-01-02T13:42:41Z",
    "experiment_id": "exp_1",
    "variant_id": "var_a",
}


def chunk_of(*rows: Mapping[str, object]) -> Chunk:
    frame = pl.DataFrame(rows, infer_schema_length=None).with_row_index(LINE, offset=2)
    return Chunk(rows=frame.cast({LINE: pl.Int64}))
