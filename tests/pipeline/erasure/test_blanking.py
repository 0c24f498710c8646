"""Blanking of texts in documents: whole values, quoted ones and long words, and no parts of others."""

from typing import Any

import pytest

from pipeline.erasure.blanking import Blanking
from pipeline.store.warehouse.erasure.segment_texts import ERASED

BLANKING = Blanking({"ann@mail.example", "v1", "a.b-c*d"})


@pytest.mark.parametrize(
    ("value", "blanked"),
    [
        ("v1", ERASED),
        ("no experiment 'v1', and \"v1\"", f"no experiment '{ERASED}', and \"{ERASED}\""),
        # A short text is a word like any other, but in quotes.
        ("line v1 of 'v12'", "line v1 of 'v12'"),
        ("sent by ann@mail.example.", f"sent by {ERASED}."),
        ("joann@mail.example and ann@mail.examples", "joann@mail.example and ann@mail.examples"),
        ("a.b-c*d or axb-c*d", f"{ERASED} or axb-c*d"),
        ({"a": [1, None, "v1", {"x": True}]}, {"a": [1, None, ERASED, {"x": True}]}),
        # A visitor may be called as a field, without which the document could not be read.
        ({"v1": {"new": 1}}, {"v1": {"new": 1}}),
    ],
)
def test_texts_of_a_person_are_replaced_and_no_others(value: Any, blanked: Any) -> None:
    assert BLANKING.apply(value) == blanked


def test_without_a_text_nothing_is_replaced() -> None:
    assert Blanking({"", ERASED}).apply({"a": ["", f"'{ERASED}'"]}) == {"a": ["", f"'{ERASED}'"]}
