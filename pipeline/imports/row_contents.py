"""Contents of rows: hashes by which a row is known again, whatever its line and its file."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl

from pipeline.events.text_hashes import hash_texts
from pipeline.store.warehouse.imports.content_counts import ContentCounts


def hash_rows(
    rows: pl.DataFrame,
    goals: Sequence[str],
    *,
    has_visitors: bool,
    has_times: bool,
    unit: str | None = None,
) -> pl.Series:
    """Hash the content of each row of visitors (UInt64).

    It is the `visitor_id`, the `variant`, the time `occurred_at` and the `content:<goal>` of each goal,
    without the visitor or the time where the file has none: neither the line nor the time of the import is
    content. Nor are segments, so a file is the same when more of them are named; but the `unit` is.
    """
    texts = [
        *(["visitor_id"] if has_visitors else []),
        "variant",
        *([] if unit is None else [f"segment:{unit}"]),
    ]
    numbers = [*(["occurred_at"] if has_times else []), *(f"content:{name}" for name in sorted(goals))]
    # With its length before it, no text runs into the next one.
    lengths = [pl.format("{}:{}", pl.col(name).str.len_bytes(), name) for name in texts]
    whole = pl.concat_str([*lengths, *(pl.col(name).cast(pl.String) for name in numbers)], separator="|")
    return hash_texts(rows.select(whole).to_series())


def number_rows(contents: pl.Series, counts: ContentCounts) -> pl.Series:
    """Number each row among the equal ones of this import, from 0; those counted before come first."""
    numbers = counts.count(contents)
    counts.add(contents)
    is_repeated = contents.is_duplicated()
    if is_repeated.any():
        within = pl.int_range(pl.len(), dtype=pl.UInt64).over("content")
        repeated = contents.alias("content").to_frame().filter(is_repeated).select(within).to_series()
        numbers = numbers.scatter(is_repeated.arg_true(), numbers.filter(is_repeated) + repeated)
    return numbers


def numbered_ids(contents: pl.Series, numbers: pl.Series) -> pl.Series:
    """Build the id `<content>-<number>` of each row, with the hash in 16 hexadecimal digits."""
    # Four digits at a time, the first ones first.
    groups = contents.to_numpy().astype(">u8").view(">u2").reshape(-1, 4).astype(np.uint32)
    digits = _four_digits()
    parts = [digits.gather(pl.Series(groups[:, place])).alias(f"digits {place}") for place in range(4)]
    ids = pl.concat_str(*(part.name for part in parts), pl.lit("-"), pl.col("number").cast(pl.String))
    return pl.DataFrame([*parts, numbers.alias("number")]).select(ids).to_series()


@cache
def _four_digits() -> pl.Series:
    """Return the texts of 0 to 65,535 in hexadecimal."""
    return pl.Series([f"{number:04x}" for number in range(2**16)])
