"""Plain data is what JSON has."""

from datetime import UTC, date, datetime

import pytest

from engine.display.plain_data import plain_data


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({1: (2, [3])}, {"1": [2, [3]]}),
        (datetime(2026, 3, 2, tzinfo=UTC), "2026-03-02T00:00:00+00:00"),
        (date(2026, 3, 2), "2026-03-02"),
        (float("nan"), None),
        (float("-inf"), None),
        (frozenset({"b", "a"}), ["a", "b"]),
        (True, True),
        (None, None),
    ],
)
def test_values_become_those_of_json(value: object, plain: object) -> None:
    assert plain_data(value) == plain
