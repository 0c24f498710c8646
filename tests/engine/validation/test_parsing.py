"""How input becomes a plain record; nothing is refused here."""

from datetime import UTC, datetime

import pytest

from engine.validation.parsing import (
    first_marked,
    identified,
    merged,
    read_moment,
    unknown_ids,
    without_ids,
)

EXISTING = [{"id": "a", "name": "A", "weight": 1}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-01T09:00:00Z", datetime(2026, 5, 1, 9, tzinfo=UTC)),
        ("2026-05-01T09:00:00.5+05:30", datetime(2026, 5, 1, 3, 30, 0, 500_000, tzinfo=UTC)),
        ("2026-05-01T09:00", datetime(2026, 5, 1, 9)),  # noqa: DTZ001  # left without a zone, for the check to name
        ("9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59-01:00"),
        ("tomorrow", "tomorrow"),
        (None, None),
        (7, 7),
    ],
)
def test_a_time_is_read_where_it_can_be(value: object, expected: object) -> None:
    assert read_moment(value) == expected


def test_an_item_is_laid_over_the_existing_one_of_its_id() -> None:
    items = [{"id": "a", "weight": 3}, {"name": "B"}, {"id": "x"}, 7]
    assert identified(items, EXISTING, lambda prefix: f"{prefix}_1", "var") == [
        {"id": "a", "name": "A", "weight": 3},
        {"name": "B", "id": "var_1"},
        {"id": "x"},
        7,
    ]
    assert [problem.field for problem in unknown_ids(items, EXISTING, "variant")] == ["[2].id"]


def test_an_object_is_merged_key_by_key_and_null_takes_a_key_away() -> None:
    assert merged({"a": 1, "b": 2}, {"b": None, "c": 3}) == {"a": 1, "c": 3}
    assert merged({"a": 1}, [2]) == [2]


@pytest.mark.parametrize(
    ("items", "flags"),
    [
        ([{}, {}], [True, None]),
        ([{"is_control": False}, {"is_control": False}], [True, False]),
        ([{}, {"is_control": True}], [None, True]),
        ([{}, {"is_control": "yes"}], [None, "yes"]),
    ],
)
def test_the_first_is_marked_where_none_is(items: list[dict[str, object]], flags: list[object]) -> None:
    marked = first_marked(items, "is_control")
    assert isinstance(marked, list)
    assert [item.get("is_control") for item in marked] == flags


@pytest.mark.parametrize("items", [None, 7, [], [7], [{}, 7], {"a": 1}])
def test_what_is_no_list_of_objects_stays_as_it_came(items: object) -> None:
    assert first_marked(items, "is_control") == items
    assert without_ids(items) == items
