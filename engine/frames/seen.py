"""Variants and times that were seen, before anything is counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import polars as pl

from engine.frames.counts import moment

# Up to this many variants are found one by one.
_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Variants that were seen, in any order, and the first and last time; None without times."""

    variants: Sequence[str]
    first: datetime | None
    last: datetime | None

    @classmethod
    def together(cls, parts: Sequence[Self]) -> Self:
        """Bring together what was seen in parts of the rows."""
        return cls(
            variants=list(dict.fromkeys(name for part in parts for name in part.variants)),
            first=min((part.first for part in parts if part.first is not None), default=None),
            last=max((part.last for part in parts if part.last is not None), default=None),
        )


def seen_in(rows: pl.DataFrame) -> Seen:
    """Find the variants and times of the rows of `read_rows`."""
    return Seen(
        variants=_distinct(rows["variant"]),
        first=moment(rows["at"].min()),
        last=moment(rows["at"].max()),
    )


def _distinct(variants: pl.Series) -> list[str]:
    """Find every distinct variant; filtering them out one by one is faster than a group-by."""
    seen: list[str] = []
    while len(variants) and len(seen) < _FEW:
        seen.append(variants[0])
        variants = variants.filter(variants != seen[-1])
    return [*seen, *variants.unique().to_list()]
