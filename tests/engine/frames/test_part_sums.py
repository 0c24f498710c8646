"""Rows that are counted in parts have the evidence, and the errors, of all rows together."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.evidence.largest_visitors import MOST, LargestVisitors
from engine.errors import EngineError
from engine.frames import observations, row_parts
from engine.frames.kinds import Converted, Mean, Ratio, Revenue, goals_of
from engine.frames.observations import Observations, observe
from engine.frames.rows import Columns, read_rows
from tests.engine.frames.lazy.shop import GOALS, shop_rows
from tests.examples import trials

ALL = goals_of({**GOALS, "spent": Revenue(orders="views"), "refunds": "revenue"})


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_parts, "BATCH_ROWS", 300)
    monkeypatch.setattr(row_parts, "PARTS", 3)


def observed(frame: pl.DataFrame, columns: Columns, timezone: str) -> Observations:
    return observe(frame.lazy(), columns, timezone=timezone)


def at_once(frame: pl.DataFrame, columns: Columns, timezone: str) -> Observations:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observations, "_are_parts_enough", lambda _: False)
        return observed(frame, columns, timezone)


def assert_same(found: Any, wanted: Any, name: str = "evidence") -> None:
    """Whole numbers and times are equal, and doubles but for the last digits of their sums."""
    if isinstance(wanted, LargestVisitors):
        # Of visitors of one size, any are among the largest.
        assert_same(np.abs(found.value[..., :MOST]), np.abs(wanted.value[..., :MOST]))
        assert_same(np.abs(found.denominator[..., MOST:]), np.abs(wanted.denominator[..., MOST:]))
    elif is_dataclass(wanted):
        for field in fields(wanted):
            assert_same(getattr(found, field.name), getattr(wanted, field.name), f"{name}.{field.name}")
    elif isinstance(wanted, np.ndarray) and wanted.dtype == np.float64:
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.nanmax(np.abs(wanted), initial=0))
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist(), name
    else:
        assert found == wanted, name


def either(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


def drawn(seed: int) -> tuple[pl.DataFrame, Columns, str]:
    """Draw a frame and what is asked of it: goals, ids, times, a zone, and the order of the rows."""
    rng = np.random.default_rng(seed)
    rows = shop_rows(int(rng.integers(200, 2500))).with_columns(
        refunds=-pl.col("views"), visitor=pl.col("visitor").cast(either(rng, pl.String, pl.Int64))
    )
    order = either(rng, "variant", "at", "visitor")
    names = rng.permutation(list(ALL))[: rng.integers(1, len(ALL) + 1)]
    columns = Columns(
        variant="variant",
        goals={name: ALL[name] for name in names},
        visitor=either(rng, "visitor", None),
        timestamp=either(rng, "at", None),
    )
    return rows.sort(order), columns, either(rng, "UTC", "America/New_York", "Asia/Kathmandu")


@pytest.mark.many(seconds=1)
@pytest.mark.parametrize("seed", range(trials(4, 60)))
def test_parts_add_up_to_the_evidence_of_all_rows(seed: int) -> None:
    asked = drawn(seed)
    found, wanted = observed(*asked), at_once(*asked)
    assert {*found.seen.variants} == {*wanted.seen.variants} == {"A", "B", "C"}
    assert (found.seen.first, found.seen.last) == (wanted.seen.first, wanted.seen.last)
    for variants in (["A", "B", "C"], ["C", "A", "B"]):
        assert_same(found.count(variants), wanted.count(variants))


def test_the_largest_visitors_keep_their_numerators_and_denominators() -> None:
    columns = Columns(variant="variant", goals={"ratio": Ratio("views", "score")}, visitor="visitor")
    asked = shop_rows(2000), columns, "UTC"
    found, wanted = (one(*asked).count(["A", "B", "C"]).largest for one in (observed, at_once))
    assert found is not None
    assert wanted is not None
    for name in ("value", "denominator", "before"):
        assert_same(getattr(found, name)[..., MOST:], getattr(wanted, name)[..., MOST:])


def test_most_rows_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variant is in a part of its own, and the days of the parts do not meet."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    frame = pl.DataFrame(
        {
            "variant": [name for name in "ABC" for _ in range(400)],
            "at": [start + timedelta(days=number // 300 * 5) for number in range(1200)],
            "bought": [number % 7 == 0 for number in range(1200)],
        }
    )
    columns = Columns(variant="variant", goals={"bought": Converted()}, timestamp="at")
    wanted = at_once(frame, columns, "UTC").count("BAC")
    heights: list[int] = []

    def counted(batch: pl.DataFrame, columns: Columns) -> pl.DataFrame:
        heights.append(batch.height)
        return read_rows(batch, columns)

    monkeypatch.setattr("engine.frames.row_parts.read_rows", counted)
    monkeypatch.setattr("engine.frames.observations.read_rows", None)
    found = observed(frame, columns, "UTC").count("BAC")
    assert (heights, len(wanted.daily.days)) == ([300] * 4, 16)
    assert_same(found, wanted)


SPOILED: Mapping[str, tuple[str, Any]] = {
    "a flag that is 2": ("clicked", 2.0),
    "an infinite value": ("score", float("inf")),
    "a value too large": ("score", 1e51),
    "an amount too large": ("spent", 1e15),
    "an infinite amount": ("spent", float("-inf")),
    "a negative count": ("views", -1),
    "no variant": ("variant", None),
    "no visitor": ("visitor", None),
    "no time": ("at", None),
    "a time of no calendar": ("at", datetime(2300, 1, 1, tzinfo=UTC)),
}


@pytest.mark.parametrize("spoiled", SPOILED)
@pytest.mark.parametrize("visitor", ["visitor", None])
def test_errors_say_the_same_of_parts(spoiled: str, visitor: str | None) -> None:
    name, value = SPOILED[spoiled]
    rows = shop_rows(1000).with_columns(clicked=pl.col("bought").cast(pl.Float64))
    columns = Columns(
        variant="variant",
        goals={"clicked": Converted(), **{name: ALL[name] for name in ("spent", "views", "score")}},
        visitor=visitor,
        timestamp="at",
    )
    is_last = pl.int_range(pl.len()) >= 998
    frame = rows.with_columns(pl.when(is_last).then(pl.lit(value)).otherwise(name).alias(name))
    if name == visitor or name != "visitor":
        with pytest.raises(EngineError) as wanted:
            at_once(frame, columns, "UTC").count(["A", "B", "C"])
        with pytest.raises(type(wanted.value)) as found:
            observed(frame, columns, "UTC").count(["A", "B", "C"])
        assert str(found.value) == str(wanted.value)


def test_totals_beyond_64_bits_are_refused_though_each_part_can_be_counted() -> None:
    amounts = [90_000_000_000_000.0, -90_000_000_000_000.0] * 513
    frame = pl.DataFrame({"variant": ["A", "A", "B", "B"] * 256 + ["A", "B"], "spent": amounts})
    columns = Columns(variant="variant", goals={"spent": Revenue()})
    with pytest.raises(EngineError, match="'spent' adds up to more cents than 64 bits"):
        observed(frame, columns, "UTC")
    assert observed(frame.head(1000), columns, "UTC").count(["A", "B"]).visitors.tolist() == [500, 500]


def test_a_lazy_frame_is_run_once() -> None:
    runs: list[int] = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        runs.append(frame.height)
        return frame

    lazy = shop_rows(1000).lazy().map_batches(seen, streamable=False)
    columns = Columns(variant="variant", goals={"rating": Mean()}, visitor="visitor", timestamp="at")
    assert observe(lazy, columns, timezone="UTC").count(["A", "B", "C"]).visitors.sum() > 300
    assert runs == [1000]
