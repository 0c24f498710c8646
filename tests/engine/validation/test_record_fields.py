"""Input schemas, generated from record classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import jsonschema
import pytest

from engine.design.experiment import Experiment
from engine.design.planning.calculator import SampleQuestion
from engine.design.project import Project
from engine.validation.record_fields import (
    ASSIGNED,
    INTERNAL,
    assigned,
    filled_in,
    input_definitions,
    input_schema,
    writable,
)
from engine.validation.records import RecordRule, keys_of, problems_in, records_of, validate
from engine.validation.values import choice, flag, list_of, optional, text, whole


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the book.

    Its number is the service's own.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    heading: Annotated[str, text(5)]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, kw_only=True)
class Book:
    """A book."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Annotated[str, text(9), ASSIGNED]
    salt: Annotated[str, text(9), INTERNAL]
    slug: Annotated[str, text(20), filled_in(optional(text(9)).described("By default made of the title."))]
    title: Annotated[str, text(9).described("As printed.")]
    copies: Annotated[int, whole(0, 99)] = 1
    pages: Annotated[tuple[Page, ...], records_of(Page, at_most=2, name="page")] = ()
    options: Annotated[Mapping[str, Any], keys_of({"bold": flag}, what="the options")] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        validate(self)


def test_a_field_of_a_record_is_a_property_of_its_schema() -> None:
    schema = input_schema(Book)
    assert schema["properties"] == {
        "slug": {
            "anyOf": [{"type": "string", "minLength": 1, "maxLength": 9}, {"type": "null"}],
            "description": "By default made of the title.",
            "default": None,
            "title": "Slug",
        },
        "title": {
            "type": "string",
            "minLength": 1,
            "maxLength": 9,
            "description": "As printed.",
            "title": "Title",
        },
        "copies": {"type": "integer", "minimum": 0, "maximum": 99, "default": 1, "title": "Copies"},
        "pages": {
            "type": "array",
            "items": {"$ref": "#/$defs/Page"},
            "maxItems": 2,
            "default": [],
            "title": "Pages",
        },
        "options": {
            "type": "object",
            "properties": {
                "bold": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None, "title": "Bold"}
            },
            "additionalProperties": False,
            "default": {},
            "title": "Options",
        },
    }
    assert schema["required"] == ["title"]


def test_a_nested_record_is_a_definition_described_by_the_first_paragraph_of_its_docstring() -> None:
    definitions = input_definitions(Book)
    assert set(definitions) == {"Page"}
    assert definitions["Page"]["description"] == "A page of the book."


def test_access_says_what_callers_write_and_may_send_back() -> None:
    assert writable(Book) == ("slug", "title", "copies", "pages", "options")
    assert assigned(Book) == ("id",)


@pytest.mark.parametrize("record", [Experiment, Project, SampleQuestion])
def test_every_writable_field_of_a_record_is_in_its_schema(record: type) -> None:
    schema = {**input_schema(record), "$defs": input_definitions(record)}
    assert tuple(schema["properties"]) == writable(record)
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("record", [Experiment, Project, SampleQuestion])
def test_defaults_fit_the_schema(record: type) -> None:
    schema = {**input_schema(record), "$defs": input_definitions(record), "required": []}
    properties = schema["properties"].items()
    jsonschema.validate({name: field["default"] for name, field in properties if "default" in field}, schema)


VALUES: list[Any] = [None, True, 0, 5, -1, 1.5, 10**20, "", " ", "a", "a" * 6, "x", [], ["a"], ["a", "a"], {}]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "check",
    [
        text(5),
        text(5, least=0),
        whole(0, 9),
        flag,
        choice(("x", "y")),
        optional(whole(0, 9)),
        list_of(text(5), at_most=3),
        keys_of({"a": flag}, required=("a",), what="it"),
    ],
)
def test_a_value_without_problems_fits_the_schema(check: Any, value: Any) -> None:
    fits = jsonschema.Draft202012Validator(check.schema).is_valid(value)
    assert fits or list(check(value))


def test_a_record_without_problems_fits_its_schema() -> None:
    sent = {"title": "Tea", "slug": None, "pages": [{"heading": "One"}], "options": {"bold": None}}
    jsonschema.validate(sent, {**input_schema(Book), "$defs": input_definitions(Book)})
    assert problems_in({**sent, "id": "b", "salt": "s", "slug": "tea"}, Book) == []
