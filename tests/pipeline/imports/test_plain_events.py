"""Columnar decoding gives the events of decoding row by row, and leaves the others to it."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from engine.local_days import epoch_microseconds
from pipeline.events.decode import RequestContext
from pipeline.events.project_ids import ProjectIds
from pipeline.imports import event_rows, plain_events
from pipeline.imports.event_rows import read_event_rows
from pipeline.sources.tables import LINE, Chunk
from tests.builders import NOW
from tests.examples import examples

CONTEXT = RequestContext(
    received_us=epoch_microseconds(NOW),
    project_ids=ProjectIds({"exp": frozenset({"a", "b"}), "other": frozenset({"c"})}, frozenset({"goal"})),
    sender="import",
    max_age_us=None,
)

IDS = ["v1", "v 1", "a" * 200, "a" * 201, "", " ", "null", " NaN ", "jürgen", "x\ty", "row", None]
TEXTS = {
    "type": [
        "exposure",
        "conversion",
        "conversion",
        "pageview",
        "click",
        "custom_event",
        "identify",
        "?",
        None,
    ],
    "event_id": IDS,
    "visitor_id": ["v1", "v2", *IDS],
    "user_id": [None, None, *IDS],
    "experiment_id": ["exp", "exp", "other", "none", None],
    "variant_id": ["a", "b", "c", None],
    "goal_id": [None, "goal", "none"],
    "transaction_id": [None, *IDS],
    "event_name": ["order", "größe", "n" * 201, None],
    "url": ["https://shop.example/a", "https://shop.example/?utm_source=x&gclid=1", "u" * 8001, None],
    "selector": ["#buy", None],
    "kind": [None, None, "refund", "conversion", "gift"],
    "currency": [None, "USD", "eur", "euro", "€€€"],
    "value": [None, "1", "-2.50", "1e3", "1e16", "nan", "inf", "x", " 3", "0x1", "1_000"],
    "revenue_cents": [None, "0", "100", "007", "-1", "1.5", "9999999999999999", "x"],
    "timestamp": [
        *(None, "2026-01-31T12:00:00Z", "2026-01-31 12:00:00.123456", "2026-01-31T12:00:00.5Z"),
        *("2026-01-31", "20260131", "1700000000000", "2026-02-30T00:00:00Z", "2026-01-31T23:59:60Z"),
        *("2026-01-31T24:00:00Z", "2026-01-31T12:00:00+02:00", "9999-12-31T23:59:59Z", "0001-01-01", "x"),
    ],
    "attributes": [
        None,
        '{"plan": "gold", "country": "de"}',
        '{"a": {"b": 1}}',
        "[1]",
        "no json",
        '{"x": 1.50}',
    ],
    "country": [None, "DE", "de", "XX"],
    "user_agent": [None, "Googlebot/2.1", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)"],
    "address_key": [None, "12"],
    "occurred_at": [None, "never"],
    "note": [None, "ü" * 20_000, "short"],
}
CELLS = {name: st.sampled_from(values) for name, values in TEXTS.items()}


def read_both(rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Read rows by columns where that is possible, and all of them one by one."""
    chunk = Chunk(rows.with_row_index(LINE, offset=2).cast({LINE: pl.Int64}), table="t")
    columnar = read_event_rows(chunk, CONTEXT)
    with monkeypatch.context() as patch:
        patch.setattr(event_rows, "decode_plain", lambda *_: plain_events.nothing())
        return columnar, read_event_rows(chunk, CONTEXT)


@examples(12, 800, seconds=30)
@given(
    rows=st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=12),
    columns=st.sets(st.sampled_from(sorted(TEXTS)), min_size=8),
)
def test_texts_are_decoded_as_row_by_row(rows: list[dict[str, Any]], columns: set[str]) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(TEXTS, pl.String)).select(
        "type", *sorted(columns - {"type"})
    )
    with pytest.MonkeyPatch.context() as patch:
        columnar, by_row = read_both(frame, patch)
    assert_frame_equal(columnar.events, by_row.events)
    assert columnar.bad_rows == by_row.bad_rows


def test_typed_columns_are_decoded_as_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [datetime(2026, 1, day, 12, 30, 1, 5, UTC).replace(tzinfo=None) for day in (1, 2, 3)]
    rows = pl.DataFrame(
        {
            "type": ["custom_event", "conversion", "custom_event"],
            "visitor_id": ["v1", "v2", "v3"],
            "event_name": ["order"] * 3,
            "value": [1.5, None, float("nan")],
            "revenue_cents": [None, 2**40, 3],
            "timestamp": at,
            "attributes": [{"plan": "gold", "n": 1.0}, {"plan": None, "n": None}, {"plan": "", "n": 2.5}],
            "paid": [True, None, False],
            "score": [0.1, 2.0, None],
        }
    )
    kinds = (
        pl.col("timestamp"),
        pl.col("timestamp").dt.replace_time_zone("Europe/Berlin"),
        pl.col("timestamp").dt.cast_time_unit("ms"),
        pl.col("timestamp").dt.cast_time_unit("ns"),
        pl.col("timestamp").dt.date(),
        pl.col("timestamp").dt.epoch("ms"),
        pl.lit(-1).alias("timestamp"),
    )
    for kind in kinds:
        for others in (
            [],
            [pl.col("value").cast(pl.Int64, strict=False)],
            [pl.col("visitor_id").cast(pl.Categorical)],
        ):
            columnar, by_row = read_both(rows.with_columns(kind, *others), monkeypatch)
            assert_frame_equal(columnar.events, by_row.events)
            assert columnar.bad_rows == by_row.bad_rows


def test_negative_zeros_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [0.0, -0.0, None, 0.0, -0.0, 1.0]
    event = {"type": "custom_event", "visitor_id": "v1", "event_name": "x"}
    for column in ({"score": numbers}, {"attributes": [{"score": number} for number in numbers]}):
        rows = pl.DataFrame({**event, **column})
        columnar, by_row = read_both(rows, monkeypatch)
        assert columnar.events["custom"].n_unique() == 4
        assert_frame_equal(columnar.events, by_row.events)


def test_usual_rows_need_no_look_at_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame(
        {
            "type": ["exposure", "conversion", "pageview"],
            "visitor_id": ["v1", "v1", "v2"],
            "experiment_id": ["exp", None, None],
            "variant_id": ["a", None, None],
            "event_name": [None, "order", None],
            "revenue_cents": [None, "100", None],
            "url": [None, None, "https://shop.example/?utm_source=x"],
            "timestamp": [datetime(2026, 1, 1, tzinfo=UTC).isoformat()] * 3,
            "country": ["DE", None, "größer"],
        }
    )
    monkeypatch.setattr(event_rows, "_decode", None)
    chunk = Chunk(rows.with_row_index(LINE, offset=2).cast({LINE: pl.Int64}), table="t")
    assert read_event_rows(chunk, CONTEXT).events.height == 3
