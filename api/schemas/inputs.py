"""Request bodies: JSON schemas generated from the records that validate them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.design.experiment import Experiment
from engine.design.planning.calculator import SampleQuestion
from engine.design.project import Project
from engine.design.validation.check import DEFINITIONS, Schema
from engine.design.validation.record_fields import input_definitions, input_schema

REFERENCE: Final = "#/components/schemas/"
# Answers have components of these names, which describe what is read.
COMPONENT_NAMES: Final[Mapping[str, str]] = {
    "Variant": "VariantInput",
    "Change": "ChangeInput",
    "Goal": "GoalInput",
    "ProjectSettings": "ProjectSettingsInput",
}


@dataclass(frozen=True, slots=True)
class Body:
    """A request body: the name of its component, and every component that it needs."""

    name: str
    components: Mapping[str, Schema]

    @classmethod
    def of(cls, name: str, record: type, description: str) -> "Body":
        """Describe the body that becomes a record."""
        whole = {**input_schema(record), "title": name, "description": description}
        schemas = {name: whole, **input_definitions(record)}
        return cls(name, {_component_name(key): _with_components(key, schemas[key]) for key in schemas})

    @property
    def as_changes(self) -> "Body":
        """The body of an update, which holds the fields to change.

        A field that is absent from an update stays as it is, so no field is required or has a default.
        """
        name = self.name.removesuffix("Input") + "Changes"
        schema = {key: value for key, value in self.components[self.name].items() if key != "required"}
        properties = {
            field: {key: value for key, value in described.items() if key != "default"}
            for field, described in schema["properties"].items()
        }
        changes = {**schema, "title": name, "description": "The fields to change.", "properties": properties}
        return Body(name, {**self.components, name: changes})


def _component_name(definition: str) -> str:
    return COMPONENT_NAMES.get(definition, definition)


def _with_components(name: str, schema: Schema) -> dict[str, Any]:
    """Return a definition as a component that refers to components."""
    text = json.dumps({**schema, "title": _component_name(name)})
    for definition, component in COMPONENT_NAMES.items():
        text = text.replace(f'"{DEFINITIONS}{definition}"', f'"{REFERENCE}{component}"')
    component_schema: dict[str, Any] = json.loads(text.replace(DEFINITIONS, REFERENCE))
    return component_schema


EXPERIMENT_INPUT: Final = Body.of(
    "ExperimentInput", Experiment, "An experiment to create, with its variants, goals and targeting rules."
)
PROJECT_INPUT: Final = Body.of("ProjectInput", Project, "A project to create.")
SAMPLE_SIZE_INPUT: Final = Body.of(
    "SampleSizeInput", SampleQuestion, "A metric, and either the effect to detect or the number of visitors."
)
