from typing import Any

import pytest

from engine.validation.sent_ids import JUNK_IDS, MAX_ID_LENGTH, MAX_WHOLE, id_text, whole_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("acme", "acme"),
        (" acme\n", "acme"),
        ("Acme", "Acme"),
        (12, "12"),
        ("12", "12"),
        (12.0, "12"),
        (-0.0, "0"),
        (MAX_WHOLE, "9007199254740991"),
        ("x" * MAX_ID_LENGTH, "x" * MAX_ID_LENGTH),
    ],
)
def test_an_id_has_one_text_whichever_way_it_is_sent(value: object, text: str) -> None:
    assert id_text(value) == text


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 1.5, float("nan"), float("inf"), MAX_WHOLE + 1, {"id": 1}, [1]),
        *("x" * (MAX_ID_LENGTH + 1), "  ", *sorted(JUNK_IDS)),
    ],
)
def test_what_is_no_id_has_no_text(value: Any) -> None:
    assert id_text(value) is None


def test_numbers_are_written_in_digits_where_they_are_whole() -> None:
    assert [whole_text(value) for value in (1e3, 7, 2.5, -3.0)] == ["1000", "7", None, "-3"]
