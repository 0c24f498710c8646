"""Components of request bodies."""

import json

import pytest

from api.schemas import experiments
from api.schemas.inputs import (
    CONVERSION_BATCH,
    EXPERIMENT_INPUT,
    PROJECT_INPUT,
    SAMPLE_SIZE_INPUT,
    TRACK_BATCH,
    VISIT,
    Body,
)
from engine.design import drafting, project
from engine.design.analysis_settings import Statistics
from engine.design.experiment import StopConditions, UrlRule
from engine.design.planning.calculator import SampleQuestion
from engine.validation.record_fields import writable
from pipeline.assignment.request import InitBody
from pipeline.events.schema import CONVERSION_KINDS, EVENT_TYPES, ConvertEvent, TrackEvent

BODIES = [
    EXPERIMENT_INPUT,
    EXPERIMENT_INPUT.as_changes,
    PROJECT_INPUT,
    SAMPLE_SIZE_INPUT,
    TRACK_BATCH,
    CONVERSION_BATCH,
    VISIT,
]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (EXPERIMENT_INPUT, drafting.WRITABLE_FIELDS),
        (EXPERIMENT_INPUT.as_changes, drafting.WRITABLE_FIELDS),
        (PROJECT_INPUT, project.WRITABLE_FIELDS),
        (PROJECT_INPUT.as_changes, project.WRITABLE_FIELDS),
        (SAMPLE_SIZE_INPUT, writable(SampleQuestion)),
    ],
)
def test_a_body_has_every_writable_field_of_its_record(body: Body, fields: tuple[str, ...]) -> None:
    assert tuple(body.components[body.name]["properties"]) == fields


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.name)
def test_references_of_a_body_name_its_components(body: Body) -> None:
    text = json.dumps(body.components)
    names = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert names <= set(body.components)
    assert "$defs" not in text
    assert all(name == schema["title"] for name, schema in body.components.items())


def test_parts_of_an_experiment_are_named_apart_from_those_of_answers() -> None:
    assert {"VariantInput", "ChangeInput", "GoalInput"} <= set(EXPERIMENT_INPUT.components)
    assert not {"Variant", "Change", "Goal"} & set(EXPERIMENT_INPUT.components)


@pytest.mark.parametrize("record", [Statistics, StopConditions, UrlRule])
def test_an_answer_has_every_field_of_a_component_that_bodies_share(record: type) -> None:
    answer = getattr(experiments, record.__name__)
    assert tuple(answer.model_fields) == writable(record)


def test_bodies_of_events_have_every_field_that_is_decoded() -> None:
    for struct, component in (
        (ConvertEvent, CONVERSION_BATCH.components["Conversion"]),
        (InitBody, VISIT.components["Visit"]),
    ):
        assert tuple(component["properties"]) == struct.__struct_fields__
    tracked = dict.fromkeys((*TrackEvent.__struct_fields__, *ConvertEvent.__struct_fields__))
    assert tuple(TRACK_BATCH.components["TrackedEvent"]["properties"]) == tuple(tracked)


def test_required_fields_and_words_of_events_are_those_of_the_event_table() -> None:
    event = TRACK_BATCH.components["TrackedEvent"]
    assert event["required"] == ["event_id", "type", "visitor_id"]
    assert event["properties"]["type"] == {
        "type": "string",
        "enum": [*EVENT_TYPES, "conversion"],
        "title": "Type",
    }
    assert event["properties"]["timestamp"]["anyOf"] == [
        {"type": "string"},
        {"type": "number"},
        {"type": "null"},
    ]
    kind = CONVERSION_BATCH.components["Conversion"]["properties"]["kind"]
    assert (kind["enum"], kind["default"]) == (list(CONVERSION_KINDS), "conversion")
