"""Request bodies: JSON schemas generated from the records and structs that read them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from engine.design.conclusion import ShipRequest
from engine.design.copying import CopyRequest
from engine.design.experiment import Experiment
from engine.design.metrics.metric import Metric
from engine.design.planning.calculator import SampleQuestion
from engine.design.project import Project, SdkKeyRotation
from engine.validation.check import DEFINITIONS, NULL, Schema, object_schema, or_null
from engine.validation.record_fields import input_definitions, input_schema
from pipeline.assignment.request import InitBody
from pipeline.events.batch_split import MAX_EVENTS
from pipeline.events.schema import CONVERSION_FIELDS, ConvertEvent, EventField, TrackEvent, fields_of
from pipeline.events.timestamps import Timestamp
from pipeline.imports.import_requests import ImportRequest
from pipeline.requests.runs import RunRequest
from pipeline.webhooks.webhook_requests import SecretRotation, WebhookRequest

REFERENCE: Final = "#/components/schemas/"
# Answers have components of these names, which describe what is read.
COMPONENT_NAMES: Final[Mapping[str, str]] = {
    "Variant": "VariantInput",
    "Change": "ChangeInput",
    "Goal": "GoalInput",
    "ProjectSettings": "ProjectSettingsInput",
    "RunDays": "RunDaysInput",
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
SHIP_INPUT: Final = Body.of("ShipInput", ShipRequest, "A decision about an experiment.")
METRIC_INPUT: Final = Body.of("MetricInput", Metric, "A metric to create, by the same config as a goal.")
PROJECT_INPUT: Final = Body.of("ProjectInput", Project, "A project to create.")
SDK_KEY_ROTATION: Final = Body.of("SdkKeyRotation", SdkKeyRotation, "A replacement of the public key.")
COPY_INPUT: Final = Body.of("CopyInput", CopyRequest, "A copy of an experiment.")
IMPORT_INPUT: Final = Body.of("ImportInput", ImportRequest, "A described source to import.")
RUN_INPUT: Final = Body.of("RunInput", RunRequest, "A run to carry out.")
WEBHOOK_INPUT: Final = Body.of("WebhookInput", WebhookRequest, "A webhook to create.")
SECRET_ROTATION: Final = Body.of("SecretRotation", SecretRotation, "A replacement of a webhook's secret.")
SAMPLE_SIZE_INPUT: Final = Body.of(
    "SampleSizeInput", SampleQuestion, "A metric, and either the effect to detect or the number of visitors."
)


def _event(name: str, event: type[TrackEvent | ConvertEvent]) -> Schema:
    fields = fields_of(event)
    properties = {key: _event_property(json_type, field) for key, (json_type, field) in fields.items()}
    for field in msgspec.structs.fields(event):
        if not fields[field.name][1].is_required:
            properties[field.name]["default"] = field.default
    required = [key for key, (_, field) in fields.items() if field.is_required]
    # Unknown keys are ignored, so that no event is lost.
    return object_schema(name, event.__doc__ or "", properties, required, is_open=True)


def _tracked_event() -> Schema:
    """Describe a tracked event, which may be a conversion."""
    event = _event("TrackedEvent", TrackEvent)
    conversion = _event("Conversion", ConvertEvent)["properties"]
    own = {
        name: {**conversion[name], "description": _of_conversion(conversion[name])}
        for name in CONVERSION_FIELDS
    }
    about = "A tracked event; one of the type `conversion` is taken as `convert` takes it."
    return {**event, "description": about, "properties": {**event["properties"], **own}}


def _of_conversion(described: Schema) -> str:
    return f"Of a conversion. {described.get('description', '')}".rstrip()


def _event_property(json_type: Any, field: EventField) -> dict[str, Any]:  # noqa: ANN401  # an annotation
    bounds = {"enum": list(field.choices) or None, "minimum": field.minimum, "maximum": field.maximum}
    limits = {key: bound for key, bound in bounds.items() if bound is not None}
    types = _types(json_type)
    options: list[Schema] = [{**option, **limits} for option in types if option != NULL]
    if NULL in types and not field.is_required:
        options.append(NULL)
    schema = options[0] if len(options) == 1 else {"anyOf": options}
    return {**schema, "description": field.description} if field.description else {**schema}


def _types(json_type: Any) -> list[Schema]:  # noqa: ANN401  # an annotation
    """Return the schema of each member of a union; a number covers an integer."""
    schema = msgspec.json.schema(json_type)
    options: list[Schema] = schema.get("anyOf", [schema])
    has_number = {"type": "number"} in options
    return [option for option in options if not (has_number and option == {"type": "integer"})]


def _batch(name: str, item: str, description: str) -> Schema:
    properties: dict[str, Schema] = {
        "batch": {"type": "array", "items": {"$ref": REFERENCE + item}, "maxItems": MAX_EVENTS},
        "sent_at": {
            "anyOf": [*_types(Timestamp), NULL],
            "default": None,
            "description": "Time of sending, which corrects a wrong clock.",
        },
        "project_id": {
            **or_null({"type": "string"}),
            "default": None,
            "description": "Required with a bearer key, here or in the query.",
        },
    }
    return object_schema(name, description, properties, ["batch"], is_open=True)


def _visit() -> Schema:
    described: Schema = msgspec.json.schema_components([InitBody])[1]["InitBody"]
    return object_schema("Visit", "A visitor on a page.", described["properties"], is_open=True)


TRACK_BATCH: Final = Body(
    "TrackBatch",
    {
        "TrackBatch": _batch("TrackBatch", "TrackedEvent", "Events of one project."),
        "TrackedEvent": _tracked_event(),
    },
)
CONVERSION_BATCH: Final = Body(
    "ConversionBatch",
    {
        "ConversionBatch": _batch(
            "ConversionBatch",
            "Conversion",
            "Conversions of one project. A single conversion may be sent without `batch` around it.",
        ),
        "Conversion": _event("Conversion", ConvertEvent),
    },
)
VISIT: Final = Body("Visit", {"Visit": _visit()})
