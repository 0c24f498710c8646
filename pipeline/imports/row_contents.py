"""Contents of rows: hashes by which a row is known again, whatever its line and its file."""

from collections.abc import Sequence

import polars as pl

from pipeline.events.hashing import visitor_keys
from pipeline.store.warehouse.imports.content_counts import ContentCounts


def hash_rows(rows: pl.DataFrame, goals: Sequence[str], *, has_visitors: bool, has_times: bool) -> pl.Series:
    """Hash the content of each row of visitors (UInt64).

    It is the `visitor_id`, the `variant`, the time `occurred_at` and the `content:<goal>` of each goal,
    without the visitor or the time where the file has none: neither the line nor the time of the import is
    content. Nor are segments, so a file is the same when more segments of it are named.
    """
    texts = [
        *(["visitor_id"] if has_visitors else []),
        "variant",
    ]
    numbers = [*(["occurred_at"] if has_times else []), *(f"content:{name}" for name in sorted(goals))]
    # With its length before it, no text runs into the next one.
    lengths = [pl.format("{}:{}", pl.col(name).str.len_bytes(), name) for name in texts]
    whole = pl.concat_str([*lengths, *(pl.col(name).cast(pl.String) for name in numbers)], separator="|")
    return hash_texts(rows.select(whole).to_series())


def hash_texts(texts: pl.Series) -> pl.Series:
    """Hash each text (UInt64), in order."""
    return pl.Series(visitor_keys(texts.to_list()), dtype=pl.UInt64)


def keys_of(texts: pl.Series) -> pl.Series:
    """Hash each text (UInt64), once for each distinct one; null for null."""
    distinct = texts.drop_nulls().unique()
    return texts.replace_strict(distinct, hash_texts(distinct), return_dtype=pl.UInt64, default=None)


def number_rows(contents: pl.Series, counts: ContentCounts) -> pl.Series:
    """Number each row among the equal ones of this import, from 0; those counted before come first."""
    within = pl.int_range(pl.len(), dtype=pl.UInt64).over("content")
    numbers = contents.alias("content").to_frame().select(within).to_series() + counts.count(contents)
    counts.add(contents)
    return numbers


def numbered_ids(contents: pl.Series, numbers: pl.Series) -> pl.Series:
    """Build the id `<content>-<number>` of each row, with the hash in 16 hexadecimal digits."""
    pairs = zip(contents.to_list(), numbers.to_list(), strict=True)
    return pl.Series([f"{content:016x}-{number}" for content, number in pairs], dtype=pl.String)
