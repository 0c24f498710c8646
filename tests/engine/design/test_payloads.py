"""Payloads: what JSON they take, how large, and with what beside them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.experiment import Experiment
from engine.design.payloads import MAX_BYTES, MAX_DEPTH, payload_json, payload_type, size_of
from engine.errors import InvalidDesignError
from engine.typed_records import record_of
from pipeline.store.documents import document_of
from tests.builders import an_experiment
from tests.engine.design.drafts import draft, problems_of, revise

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def problem_of(value: object) -> str:
    return " ".join(problem.message for problem in payload_json(value))


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def with_payloads(*payloads: object, **fields: Any) -> Mapping[str, Any]:
    variants = [{"name": f"V{index}", "payload": payload} for index, payload in enumerate(payloads)]
    return {"name": "Prices", "public_variants": True, "variants": variants, **fields}


@given(JSON)
def test_what_json_can_say_comes_back_from_the_store_as_it_was(value: object) -> None:
    experiment = draft(with_payloads(value))
    stored = json.loads(json.dumps(document_of(experiment)))
    assert record_of(stored, Experiment).variants[0].payload == value


@pytest.mark.parametrize("letter", ["a", "é", "🎉"])
def test_bytes_are_counted_and_not_characters(letter: str) -> None:
    fits = letter * ((MAX_BYTES - 2) // len(letter.encode()))
    fits += "a" * (MAX_BYTES - size_of(fits))
    assert size_of(fits) == MAX_BYTES == len(f'"{fits}"'.encode())
    assert not problem_of(fits)
    assert "4,097 bytes" in problem_of(fits + "a")


def test_nesting_is_bounded() -> None:
    assert not problem_of(nested(MAX_DEPTH))
    assert problem_of(nested(MAX_DEPTH + 1)) == "is nested more than 10 levels deep"
    assert "levels deep" in problem_of(nested(500))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([float("nan")], "holds nan, which is no number of JSON"),
        ({"a": -float("inf")}, "holds -inf, which is no number"),
        (2**53, "which browsers read as another number"),
        (10**400, "a number of more than 19 digits"),
        ("a\0b", "U+0000"),
        ({"\ud800": 1}, "U+D800"),
        ({1: "a"}, "names are texts"),
        ({"a": {"__proto__": {}}}, "names a member __proto__"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, "holds a datetime, which is no type of JSON"),
        ([b"a"], "holds a bytes"),
        ((1, 2), "holds a list, which is no type"),
        ({"a": {1, 2}}, "holds a set"),
    ],
)
def test_what_json_cannot_say_or_a_browser_misreads_is_refused(value: object, said: str) -> None:
    assert said in problem_of(value)
    assert said in problems_of(with_payloads(value))["variants[0].payload"]


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (False, "boolean"),
        (0, "number"),
        (0.5, "number"),
        ("", "string"),
        ({}, "object"),
        ([], "object"),
    ],
)
def test_a_payload_has_a_type_of_flags_also_where_it_is_empty(payload: object, kind: str) -> None:
    assert payload_type(payload) == kind
    assert draft(with_payloads(payload)).variants[0].payload == payload


def test_payloads_need_variants_that_are_public() -> None:
    said = problems_of(with_payloads(1, 2, public_variants=False))
    assert list(said) == ["public_variants"]
    assert "anybody can read" in said["public_variants"]
    experiment = draft(with_payloads(1, 2))
    assert "public_variants" in problems_of({"public_variants": False}, experiment)
    assert draft(with_payloads(None, None, public_variants=False)).public_variants is False


def test_payloads_of_an_experiment_have_one_type() -> None:
    said = problems_of(with_payloads(None, 1, 0.5, "two", {}))
    assert list(said) == ["variants[3].payload", "variants[4].payload"]
    assert "of the type string, and that of variants[1] of the type number" in said["variants[3].payload"]


def test_null_is_no_payload_and_an_absent_one_stays() -> None:
    experiment = draft(with_payloads(1, None))
    kept = revise(experiment, {"variants": [{"id": one.id, "name": one.name} for one in experiment.variants]})
    assert [one.payload for one in kept.variants] == [1, None]
    gone = revise(kept, {"variants": [{"id": one.id, "payload": None} for one in kept.variants]})
    assert [one.payload for one in gone.variants] == [None, None]
    assert an_experiment().variants[0].payload is None


def test_a_stored_payload_is_checked_when_it_is_read() -> None:
    document = document_of(draft(with_payloads("x")))
    document["variants"][0]["payload"] = "x" * 5_000
    with pytest.raises(InvalidDesignError, match="characters long"):
        record_of(document, Experiment)
