"""An event without an id is known again by its content."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from pipeline.events.hashing import hash64
from pipeline.imports.event_contents import hash_event_contents, number_events
from pipeline.imports.event_rows import read_event_rows
from pipeline.store.warehouse.imports.content_counts import ContentCounts
from tests.pipeline.imports.event_chunks import EXPOSURE, RECEPTION, chunk_of
from tests.pipeline.working_store import a_working_store


def contents_of(*rows: Mapping[str, object], received_us: int = RECEPTION.received_us) -> list[int]:
    """Read events without their ids, and return the hashes of their contents."""
    nameless = [{name: value for name, value in row.items() if name != "event_id"} for row in rows]
    context = replace(RECEPTION, received_us=received_us)
    return hash_event_contents(read_event_rows(chunk_of(*nameless), context).events).to_list()


def test_the_content_of_an_event_is_what_happened_to_whom_and_when() -> None:
    other = [
        {**EXPOSURE, "visitor_id": "v2"},
        {**EXPOSURE, "timestamp": "2017-01-02T13:42:42Z"},
        {**EXPOSURE, "user_id": "u1"},
        {**EXPOSURE, "type": "pageview", "url": "https://shop.example/"},
        {**EXPOSURE, "type": "custom_event", "event_name": "purchase", "value": "1"},
        {**EXPOSURE, "type": "custom_event", "event_name": "purchase", "value": "2"},
    ]
    contents = contents_of(EXPOSURE, *other)
    assert len(set(contents)) == len(other) + 1
    # How it is written, and attributes, are no content.
    (same,) = contents_of({**EXPOSURE, "timestamp": "1483364561000", "country": "DE"})
    assert same == contents[0]


def test_the_time_of_the_import_is_no_content_of_an_event() -> None:
    timeless = {name: value for name, value in EXPOSURE.items() if name != "timestamp"}
    ahead = {**EXPOSURE, "timestamp": "2199-01-01T00:00:00Z"}
    later = RECEPTION.received_us + 86_400_000_000
    assert contents_of(timeless, ahead) == contents_of(timeless, ahead, received_us=later)


def test_times_of_a_typed_column_are_those_of_text() -> None:
    moment = datetime(2017, 1, 2, 13, 42, 41, tzinfo=UTC)
    assert contents_of({**EXPOSURE, "timestamp": moment}) == contents_of(EXPOSURE)


def test_equal_events_without_ids_are_numbered_and_others_keep_their_ids(tmp_path: Path) -> None:
    nameless = {**EXPOSURE, "event_id": ""}
    with a_working_store(tmp_path) as store, store.warehouse.cursor() as cursor:
        counts = ContentCounts(cursor, "read")
        read = read_event_rows(chunk_of(nameless, EXPOSURE, nameless), RECEPTION).events
        numbered = number_events(read, counts)
        later = number_events(read_event_rows(chunk_of(nameless), RECEPTION).events, counts)
    stem = f"import-{hash_event_contents(read)[0]:016x}"
    assert numbered["event_id"].to_list() == [f"{stem}-0", "e1", f"{stem}-1"]
    assert later["event_id"].to_list() == [f"{stem}-2"]
    assert numbered["event_key"][0] == hash64(f"{stem}-0")


def test_the_hash_of_a_content_is_that_of_earlier_versions() -> None:
    # The fields in the order in which version 0.1 hashed them, as JSON.
    rows = [
        {"type": "pageview", "visitor_id": 'v"é\\', "url": "https://shop.example/?q=1"},
        {"type": "custom_event", "visitor_id": "v", "event_name": "paid", "value": "1e14"},
        {"type": "custom_event", "visitor_id": "v", "event_name": "paid", "value": "0.1"},
        {
            "type": "conversion",
            "visitor_id": "v",
            "goal_id": "goal_1",
            "kind": "refund",
            "revenue_cents": "7",
            "currency": "usd",
            "transaction_id": "t",
        },
    ]
    none = [None] * 5
    expected = [
        [None, "pageview", 'v"é\\', *none[:4], "https://shop.example/?q=1", *none, None, False],
        [None, "custom_event", "v", *none, None, "paid", 1e14, *none[:3], False],
        [None, "custom_event", "v", *none, None, "paid", 0.1, *none[:3], False],
        [None, "conversion", "v", *none[:3], "goal_1", *none[:4], 7, "USD", "t", True],
    ]
    assert contents_of(*rows) == [hash64(json.dumps(one, separators=(",", ":"))) for one in expected]
