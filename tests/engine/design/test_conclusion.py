"""Decisions as they are asked for."""

import pytest

from engine.design.conclusion import LONGEST_NOTE, ShipRequest
from engine.errors import InvalidDesignError
from engine.validation.input_records import read_record


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"decision": "ship", "note": "Yes"}, ["variant_id"]),
        ({"decision": "keep_control", "variant_id": "var_1", "note": "No"}, ["variant_id"]),
        ({"decision": "inconclusive", "variant_id": "var_1", "note": "No"}, ["variant_id"]),
        ({"decision": "inconclusive", "accept_risks": ["sample_ratio"], "note": "No"}, ["accept_risks"]),
        ({"decision": "rollback", "note": "No"}, ["decision"]),
        ({"decision": "inconclusive"}, ["note"]),
        ({"decision": "inconclusive", "note": "  "}, ["note"]),
        ({"decision": "inconclusive", "note": "x" * (LONGEST_NOTE + 1)}, ["note"]),
        ({"decision": "inconclusive", "note": "x", "accept_risks": ["a", "a"]}, ["accept_risks"]),
        ({"decision": "inconclusive", "note": "x", "variant": "var_1"}, ["variant"]),
    ],
)
def test_a_wrong_decision_names_its_fields(fields: dict[str, object], wrong: list[str]) -> None:
    with pytest.raises(InvalidDesignError) as error:
        read_record(fields, ShipRequest, "a decision")
    assert [problem.field.partition("[")[0] for problem in error.value.problems] == wrong


def test_a_note_may_have_lines_and_risks_are_optional() -> None:
    request = read_record({"decision": "inconclusive", "note": "One.\nTwo."}, ShipRequest, "a decision")
    assert (request.note, request.variant_id, request.accept_risks) == ("One.\nTwo.", None, ())
