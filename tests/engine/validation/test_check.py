"""Checks and the JSON schemas that describe them."""

from engine.errors import Problem
from engine.validation.check import (
    check_with,
    object_schema,
    or_null,
    reference,
    takes_null,
    unchecked,
)


@check_with(type="string", const="yes")
def yes(value: object) -> list[Problem]:
    """Check for the word yes."""
    return [] if value == "yes" else [Problem("", "must be yes")]


def test_a_check_carries_its_schema() -> None:
    assert [problem.message for problem in yes("no")] == ["must be yes"]
    assert yes.schema == {"type": "string", "const": "yes"}


def test_a_description_changes_the_schema_only() -> None:
    described = yes.described("Consent.")
    assert described.schema == {"type": "string", "const": "yes", "description": "Consent."}
    assert list(described("no")) == list(yes("no"))
    assert "description" not in yes.schema


def test_null_is_one_more_option_and_the_description_stays_on_top() -> None:
    schema = or_null({"type": "string", "description": "A name."})
    assert schema == {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A name."}
    assert or_null(schema) == schema
    assert takes_null(schema)
    assert not takes_null({"type": "string"})


def test_an_object_takes_no_other_keys_and_titles_its_own() -> None:
    properties = {"due_day": {"type": "string"}, "rule": reference("Rule")}
    assert object_schema("Plan", "A plan.", properties, ["rule"]) == {
        "title": "Plan",
        "type": "object",
        "description": "A plan.",
        "properties": {
            "due_day": {"type": "string", "title": "Due Day"},
            "rule": {"$ref": "#/$defs/Rule"},
        },
        "required": ["rule"],
        "additionalProperties": False,
    }


def test_every_value_passes_an_unchecked_field() -> None:
    assert list(unchecked(type="object")(7)) == []
