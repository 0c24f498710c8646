"""Weight epochs: periods between changes of the variants' weights."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Annotated, ClassVar

from engine.errors import Problem
from engine.validation.check import check_with
from engine.validation.records import Record, RecordRule, validate
from engine.validation.values import (
    at,
    moment,
    number,
    shown,
    text,
)

HEAVIEST = 1_000_000_000
_check_weight = number(0, HEAVIEST)
_check_id = text(64)


@check_with(type="object", additionalProperties=_check_weight.schema)
def _weights_by_variant(value: object) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem("", f"must be an object, not {shown(value)}")
        return
    for variant_id, weight in value.items():
        yield from _check_id(variant_id)
        yield from at(str(variant_id), _check_weight(weight))


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightEpoch:
    """The weights, by variant id, that split new visitors from `started_at` to the next epoch."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    started_at: Annotated[datetime, moment]
    weights: Annotated[Mapping[str, float], _weights_by_variant]

    def __post_init__(self) -> None:
        validate(self)


def in_order(records: Sequence[Record]) -> Iterable[Problem]:
    """Check that no epoch begins before the previous one."""
    for index, (before, after) in enumerate(pairwise(records), start=1):
        if "started_at" in before and "started_at" in after and after["started_at"] < before["started_at"]:
            yield Problem(f"[{index}].started_at", "is before the start of the epoch ahead of it")
