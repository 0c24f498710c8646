"""Engine in this process: every row that is sent goes through the columns that the step names."""

from collections import defaultdict
from collections.abc import Iterator

import polars as pl

from pipeline.distributed.engine import Step


class OneProcess:
    """Engine over events in memory, split in batches of so many rows."""

    def __init__(self, events: pl.DataFrame, *, batch: int = 50) -> None:
        self._events = events
        self._batch = batch

    def run(self, step: Step) -> Iterator[pl.DataFrame]:
        parts: dict[int, list[pl.DataFrame]] = defaultdict(list)
        for batch in self._events.select(step.columns).iter_slices(self._batch):
            sent = step.split(batch).select(*step.sent, "part")
            assert sent.schema == pl.Schema({**step.sent, "part": pl.UInt32()})
            for (part,), rows in sent.partition_by("part", as_dict=True, include_key=False).items():
                parts[int(str(part))].append(rows)
        for part, sent_rows in sorted(parts.items(), reverse=True):
            assert part < step.parts
            result = step.apply(part, pl.concat(sent_rows).sample(fraction=1, shuffle=True, seed=7))
            assert result.schema == step.returned
            yield result
