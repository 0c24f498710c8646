import pytest

from engine.validation.sent_ids import JUNK_IDS
from pipeline.events.field_checks import (
    checked_cents,
    checked_currency,
    checked_id,
    checked_text,
    checked_value,
    optional_id,
)
from pipeline.events.rejections import RejectedError


@pytest.mark.parametrize("junk", [None, " null ", *sorted(JUNK_IDS), "x" * 201])
def test_a_junk_id_is_rejected_with_the_code_of_its_field(junk: str | None) -> None:
    with pytest.raises(RejectedError) as rejected:
        checked_id("visitor_id", junk)
    assert rejected.value.code == "invalid_visitor_id"


def test_an_id_of_200_characters_is_valid_and_an_optional_one_may_be_absent() -> None:
    assert checked_id("event_id", "x" * 200) == "x" * 200
    assert optional_id("user_id", None) is None
    assert optional_id("user_id", "u1") == "u1"


@pytest.mark.parametrize(("cents", "is_refund"), [(-1, False), (10**12 + 1, False), (None, True)])
def test_an_amount_out_of_bounds_is_rejected(cents: int | None, *, is_refund: bool) -> None:
    with pytest.raises(RejectedError) as rejected:
        checked_cents(cents, is_refund=is_refund)
    assert rejected.value.code == "invalid_value"


def test_an_amount_within_bounds_is_valid() -> None:
    assert checked_cents(None, is_refund=False) is None
    assert checked_cents(10**12, is_refund=True) == 10**12
    assert checked_value(-1e15) == -1e15
    with pytest.raises(RejectedError):
        checked_value(1.1e15)


def test_a_currency_is_three_letters_in_capitals() -> None:
    assert checked_currency("eur") == "EUR"
    assert checked_currency(None) is None
    for code in ("EURO", "E1R", "€€€"):
        with pytest.raises(RejectedError):
            checked_currency(code)


def test_an_empty_text_is_absent_and_a_long_one_rejected() -> None:
    assert checked_text("url", "", 5) is None
    assert checked_text("url", "12345", 5) == "12345"
    with pytest.raises(RejectedError, match="url has 6 characters; at most 5"):
        checked_text("url", "123456", 5)
