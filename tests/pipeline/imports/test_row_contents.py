from pathlib import Path
from typing import Any

import polars as pl

from pipeline.imports.row_contents import hash_rows, number_rows, numbered_ids
from pipeline.store.warehouse.imports.content_counts import ContentCounts
from tests.pipeline.working_store import a_working_store

ROW = {"visitor_id": "v1", "variant": "A", "occurred_at": 5, "content:b": 1, "content:a": 250}


def hash_one(*, has_visitors: bool = True, has_times: bool = True, **changes: object) -> int:
    frame = pl.DataFrame([{**ROW, **changes}])
    goals = [name.removeprefix("content:") for name in ROW if name.startswith("content:")]
    return int(hash_rows(frame, goals, has_visitors=has_visitors, has_times=has_times).item())


def test_every_part_of_a_row_changes_its_content() -> None:
    changed: list[dict[str, Any]] = [
        {"visitor_id": "v2"},
        {"variant": "B"},
        {"occurred_at": 6},
        {"content:a": 251},
        {"content:a": -250},
        {"content:b": 250, "content:a": 1},
        # A separator within a text does not make it another text.
        {"visitor_id": "v1|1:A", "variant": ""},
    ]
    assert len({hash_one(), *(hash_one(**change) for change in changed)}) == len(changed) + 1


def test_content_is_stable_since_it_is_stored() -> None:
    # murmur3_x64_128 of `2:v1|1:A|5|250|1`.
    assert hash_one() == 9421078023729350569


def test_neither_a_missing_visitor_nor_a_missing_time_is_content() -> None:
    assert hash_one(has_visitors=False) == hash_one(has_visitors=False, visitor_id="other")
    assert hash_one(has_times=False) == hash_one(has_times=False, occurred_at=9)
    assert hash_one(has_times=False) != hash_one()


def test_equal_rows_are_numbered_through_all_chunks(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store, store.warehouse.cursor() as cursor:
        counts = ContentCounts(cursor, "read")
        chunks = [pl.Series(chunk, dtype=pl.UInt64) for chunk in ([1, 2, 1], [1, 1, 3], [2])]
        assert [number_rows(chunk, counts).to_list() for chunk in chunks] == [[0, 0, 1], [2, 3, 0], [1]]


def test_an_id_has_the_hash_in_sixteen_digits() -> None:
    contents = [255, 0x0123456789ABCDEF, 2**64 - 1]
    ids = numbered_ids(pl.Series(contents, dtype=pl.UInt64), pl.Series([3, 12, 0], dtype=pl.UInt64))
    assert ids.to_list() == ["00000000000000ff-3", "0123456789abcdef-12", "ffffffffffffffff-0"]
