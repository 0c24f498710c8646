"""Request bodies: JSON schemas generated from the records and structs that read them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from engine.design import holdout
from engine.design.conclusion import ShipRequest
from engine.design.copying import CopyRequest
from engine.design.exclusion.exclusion_group import ExclusionGroup
from engine.design.experiment import Experiment
from engine.design.metrics.metric import Metric
from engine.design.planning.calculator import SampleQuestion
from engine.design.project import Project, SdkKeyRotation
from engine.design.review import ReviewAnswer, ReviewRequest
from engine.validation.check import DEFINITIONS, NULL, Check, Schema, object_schema, or_null
from engine.validation.record_fields import input_definitions, input_schema
from pipeline.assignment.request import InitBody
from pipeline.events.batch_split import MAX_EVENTS
from pipeline.events.schema import CONVERSION_FIELDS, ConvertEvent, EventField, TrackEvent, fields_of
from pipeline.events.timestamps import Timestamp
from pipeline.imports.import_requests import ImportRequest
from pipeline.requests.runs import RunRequest
from pipeline.requests.share_links import ShareRequest
from pipeline.webhooks.channel_requests import ChannelRequest
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
    """A request body: the name of its component, all components that it needs, an example of a change."""

    name: str
    components: Mapping[str, Schema]
    change: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        record: type,
        description: str,
        example: Mapping[str, Any],
        change: Mapping[str, Any] | None = None,
    ) -> "Body":
        """Describe the body that becomes a record, with examples of one to create and of a change."""
        schemas = {name: {**input_schema(record), "description": description}, **input_definitions(record)}
        return cls._of_schemas(name, schemas, example, change)

    @classmethod
    def of_fields(
        cls,
        name: str,
        checks: Mapping[str, Check],
        required: Sequence[str],
        description: str,
        example: Mapping[str, Any],
    ) -> "Body":
        """Describe a body by the checks of its fields."""
        properties = {field: {**check.schema} for field, check in checks.items()}
        definitions = {key: one for check in checks.values() for key, one in check.definitions.items()}
        schemas = {name: object_schema(name, description, properties, required), **definitions}
        return cls._of_schemas(name, schemas, example)

    @classmethod
    def _of_schemas(
        cls,
        name: str,
        schemas: Mapping[str, Schema],
        example: Mapping[str, Any],
        change: Mapping[str, Any] | None = None,
    ) -> "Body":
        schemas = {**schemas, name: {**schemas[name], "title": name, "examples": [example]}}
        components = {_component_name(key): _with_components(key, schemas[key]) for key in schemas}
        return cls(name, components, change)

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
        notes = {"title": name, "description": "The fields to change.", "examples": [self.change]}
        changes = {**schema, **notes, "properties": properties}
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


_ORDERS: Final = {"name": "Order placed", "goal_type": "custom_event", "config": {"event_name": "purchase"}}
EXPERIMENT_INPUT: Final = Body.of(
    "ExperimentInput",
    Experiment,
    "An experiment to create, with its variants, goals and targeting rules.",
    {
        "name": "One-page checkout",
        "url": "https://shop.example/checkout",
        "hypothesis": "Fewer steps make more visitors order.",
        "variants": [{"name": "Three steps", "is_control": True}, {"name": "One page"}],
        "goals": [_ORDERS],
    },
    {"hypothesis": "One page makes more visitors order.", "tags": ["checkout"]},
)
SHIP_INPUT: Final = Body.of(
    "ShipInput",
    ShipRequest,
    "A decision about an experiment.",
    {
        "decision": "ship",
        "variant_id": "var_f3kq7xm2w5c4hn6d2tzp",
        "note": "Fewer steps, more orders on every device.",
        "accept_risks": [],
    },
)
REVIEW_INPUT: Final = Body.of(
    "ReviewInput", ReviewRequest, "A review to ask for.", {"purpose": "start", "note": "Goals checked twice."}
)
REVIEW_ANSWER: Final = Body.of("ReviewAnswer", ReviewAnswer, "An answer to a review.", {"purpose": "start"})
SHARE_INPUT: Final = Body.of(
    "ShareInput", ShareRequest, "A share link to create.", {"days": 14, "shows_money": False}
)
HOLDOUT_INPUT: Final = Body.of_fields(
    "HoldoutInput",
    holdout.FIELDS,
    holdout.REQUIRED,
    "A holdout to create, with the goals to compare by.",
    {
        "name": "Spring",
        "percent": 5,
        "goals": [_ORDERS],
    },
)
HOLDOUT_CHANGES: Final = Body.of_fields(
    "HoldoutChanges",
    {name: holdout.FIELDS[name] for name in holdout.REVISABLE},
    (),
    "The fields to change.",
    {"to": "2026-05-31T22:00:00Z"},
)
METRIC_INPUT: Final = Body.of(
    "MetricInput",
    Metric,
    "A metric to create, by the same config as a goal.",
    {"name": "Orders", "goal_type": "custom_event", "config": {"event_name": "purchase"}},
    {"description": "Orders of the shop, without refunds."},
)
GROUP_INPUT: Final = Body.of(
    "GroupInput",
    ExclusionGroup,
    "An exclusion group to create.",
    {"name": "Checkout pages"},
    {"name": "Checkout and cart"},
)
PROJECT_INPUT: Final = Body.of(
    "ProjectInput",
    Project,
    "A project to create.",
    {"name": "Shop", "url": "https://shop.example", "settings": {"revenue_currency": "EUR"}},
    {"reporting_timezone": "Europe/Vienna"},
)
SDK_KEY_ROTATION: Final = Body.of(
    "SdkKeyRotation", SdkKeyRotation, "A replacement of the public key.", {"grace_period_hours": 168}
)
COPY_INPUT: Final = Body.of(
    "CopyInput", CopyRequest, "A copy of an experiment.", {"name": "One-page checkout, again"}
)
IMPORT_INPUT: Final = Body.of(
    "ImportInput", ImportRequest, "A described source to import.", {"source": "orders"}
)
RUN_INPUT: Final = Body.of(
    "RunInput", RunRequest, "A run to carry out.", {"kind": "rollup", "run_key": "nightly-2026-03-02"}
)
WEBHOOK_INPUT: Final = Body.of(
    "WebhookInput",
    WebhookRequest,
    "A webhook to create.",
    {"url": "https://hooks.shop.example/truelift", "events": ["experiment.completed"]},
    {"enabled": False},
)
SECRET_ROTATION: Final = Body.of(
    "SecretRotation", SecretRotation, "A replacement of a webhook's secret.", {"grace_period_hours": 24}
)
CHANNEL_INPUT: Final = Body.of(
    "ChannelInput",
    ChannelRequest,
    "A notification channel to create.",
    {"kind": "slack", "url": "https://hooks.slack.com/services/T0001/B0001/secret"},
    {"enabled": False},
)
SAMPLE_SIZE_INPUT: Final = Body.of(
    "SampleSizeInput",
    SampleQuestion,
    "A metric, and either the effect to detect or the number of visitors.",
    {"baseline_rate": 10.0, "effect": 10.0, "daily_visitors": 1000.0},
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
    notes = {"description": field.description, "examples": field.example and [field.example]}
    return {**schema, **{key: note for key, note in notes.items() if note}}


def _types(json_type: Any) -> list[Schema]:  # noqa: ANN401  # an annotation
    """Return the schema of each member of a union; a number covers an integer."""
    schema = msgspec.json.schema(json_type)
    options: list[Schema] = schema.get("anyOf", [schema])
    has_number = {"type": "number"} in options
    return [option for option in options if not (has_number and option == {"type": "integer"})]


def _batch(name: str, item: str, description: str, *examples: Mapping[str, Any]) -> Schema:
    properties: dict[str, Schema] = {
        "batch": {"type": "array", "items": {"$ref": REFERENCE + item}, "maxItems": MAX_EVENTS},
        "sent_at": {
            "anyOf": [*_types(Timestamp), NULL],
            "default": None,
            "description": "Time of sending, which corrects a wrong clock.",
            "examples": ["2026-03-02T09:30:01Z"],
        },
        "project_id": {
            **or_null({"type": "string"}),
            "default": None,
            "description": "Required with a bearer key, here or in the query.",
        },
    }
    example = {"project_id": "prj_x7km3qv2c5tzhn6d4wrp", "batch": list(examples)}
    return {
        **object_schema(name, description, properties, ["batch"], is_open=True),
        "examples": [example],
    }


def _visit() -> Schema:
    described: Schema = msgspec.json.schema_components([InitBody])[1]["InitBody"]
    example = {
        "project_id": "prj_x7km3qv2c5tzhn6d4wrp",
        "visitor_id": "v_81f3",
        "url": "https://shop.example/checkout",
        "attributes": {"country": "AT"},
    }
    schema = object_schema("Visit", "A visitor on a page.", described["properties"], is_open=True)
    return {**schema, "examples": [example]}


TRACK_BATCH: Final = Body(
    "TrackBatch",
    {
        "TrackBatch": _batch(
            "TrackBatch",
            "TrackedEvent",
            "Events of one project.",
            {
                "event_id": "e_90c1",
                "type": "exposure",
                "visitor_id": "v_81f3",
                "experiment_id": "exp_k3vq7xm2c5tzhn6d4wrp",
                "variant_id": "var_f3kq7xm2w5c4hn6d2tzp",
            },
            {
                "event_id": "e_90c2",
                "type": "custom_event",
                "visitor_id": "v_81f3",
                "event_name": "purchase",
            },
        ),
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
            {
                "event_id": "e_90c3",
                "visitor_id": "v_81f3",
                "goal_id": "goal_d4wr3chn6zp2v7xk5qmt",
                "revenue_cents": 4990,
                "currency": "EUR",
                "transaction_id": "order-1001",
            },
        ),
        "Conversion": _event("Conversion", ConvertEvent),
    },
)
VISIT: Final = Body("Visit", {"Visit": _visit()})
