"""Every field, parameter and operation of the API is described, and the glossary has no word too many."""

from typing import Any

import pytest

from api.app import create_app
from api.glossary import EXCEPTIONS, MEANINGS
from pipeline.settings import Settings


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = create_app(Settings()).openapi()
    return found


def fields_of(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (name, field): described
        for name, schema in document["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
    }


def test_every_field_has_a_description(document: dict[str, Any]) -> None:
    fields = fields_of(document)
    assert len(fields) > 500
    assert sorted(place for place, field in fields.items() if not field.get("description")) == []


def test_every_parameter_has_a_description(document: dict[str, Any]) -> None:
    parameters = [
        (operation["operationId"], parameter)
        for methods in document["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", [])
    ]
    assert len(parameters) > 100
    assert [(name, one["name"]) for name, one in parameters if not one.get("description")] == []


def test_summaries_are_words(document: dict[str, Any]) -> None:
    summaries = {
        operation["operationId"]: operation["summary"]
        for methods in document["paths"].values()
        for operation in methods.values()
    }
    assert summaries["list_api_keys"] == "List API keys"
    assert summaries["rotate_sdk_key"] == "Rotate SDK key"
    assert summaries["start_experiment"] == "Start experiment"
    assert not [one for one in summaries.values() if "_" in one or " Api" in one or " Sdk" in one]


def test_descriptions_are_sentences(document: dict[str, Any]) -> None:
    for text, _ in (*MEANINGS.values(), *EXCEPTIONS.values()):
        assert text.endswith("."), text
        assert "  " not in text
    assert document["openapi"]


def test_exceptions_are_of_fields_that_exist(document: dict[str, Any]) -> None:
    fields = fields_of(document)
    assert sorted(place for place in EXCEPTIONS if place not in fields) == []
    texts = {name: meaning.text for name, meaning in MEANINGS.items()}
    told = {name for (_, name), field in fields.items() if field["description"] == texts.get(name)}
    parameters = {
        parameter["name"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", [])
        if parameter.get("description") == texts.get(parameter["name"])
    }
    assert sorted(texts.keys() - told - parameters) == []
