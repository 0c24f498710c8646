"""Configurations: what the service answered becomes experiments that decide as the service does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.assignment import bucket_variant
from engine.design.experiment import Experiment
from pipeline.assignment.decide import VariantDecision
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import UNKNOWN_CLIENT
from tests.builders import an_experiment
from tests.truelift.client.configurations import a_configuration
from truelift.client.configuration import Configuration, UnreadableConfigurationError

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
RUNNING = an_experiment(status="running", weights=(3, 1, 2), traffic_allocation=70)
GERMANS = {
    "version": 2,
    "root": {
        "operator": "and",
        "children": [{"field": "country", "operator": "equals", "values": ["DE"]}],
    },
}


def a_visitor(visitor_id: str = "v1", url: str | None = None, **attributes: str) -> Visitor:
    return Visitor(visitor_id=visitor_id, user_id=None, url=url, attributes=attributes, client=UNKNOWN_CLIENT)


def decide(
    experiment: Experiment,
    visitor: Visitor,
    *,
    stored: Mapping[str, str] | None = None,
    forced: Mapping[str, str] | None = None,
) -> VariantDecision | None:
    configuration = Configuration.from_json(a_configuration(experiment))
    known = configuration.experiments[experiment.test_key]
    return configuration.decide(known, visitor, now=NOW, stored=stored or {}, forced=forced or {})


def test_experiments_come_back_as_they_were_and_go_by_id_and_test_key() -> None:
    configuration = Configuration.from_json(a_configuration(RUNNING))
    assert configuration.experiments == {RUNNING.id: RUNNING, RUNNING.test_key: RUNNING}
    assert configuration.project_id == "prj_1"


@given(st.text(min_size=1))
def test_a_visitor_gets_the_variant_of_the_hash(visitor_id: str) -> None:
    decision = decide(RUNNING, a_visitor(visitor_id))
    index = bucket_variant(RUNNING, visitor_id)
    assert decision is not None
    assert decision.variant == (None if index is None else RUNNING.variants[index])


def test_stored_and_forced_variants_come_before_the_hash() -> None:
    last = RUNNING.variants[-1].id
    for visitor_id in "abcdef":
        stored = decide(RUNNING, a_visitor(visitor_id), stored={RUNNING.id: last})
        forced = decide(RUNNING, a_visitor(visitor_id), forced={RUNNING.id: last})
        assert stored is not None
        assert forced is not None
        assert (stored.status, forced.status) == ("existing", "forced")
        assert stored.variant == forced.variant == RUNNING.variants[-1]


def test_targeting_pages_and_pauses_hold() -> None:
    targeted = replace(an_experiment(status="running"), targeting_rules=GERMANS)
    page = "https://shop.example/checkout"
    for experiment, visitor, status in (
        (targeted, a_visitor(country="DE"), "new"),
        (targeted, a_visitor(country="FR"), "excluded"),
        (targeted, a_visitor(), "excluded"),
        (an_experiment(status="running"), a_visitor(url=page), "new"),
        (an_experiment(status="running"), a_visitor(url="https://shop.example/"), "excluded"),
        (an_experiment(status="paused"), a_visitor(), "excluded"),
    ):
        decision = decide(experiment, visitor)
        assert decision is not None
        assert decision.status == status


def test_an_experiment_that_cannot_be_read_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    content = a_configuration(RUNNING, an_experiment(id="exp_2", test_key="newer"))
    newer = content.replace(b'"trigger":"direct"', b'"trigger":"thought"', 1)
    assert newer != content
    assert set(Configuration.from_json(newer).experiments) == {"exp_2", "newer"}
    assert f"experiment {RUNNING.id} is left out" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "cannot be read"),
        (b"{}", "cannot be read"),
        (
            b'{"project_id":"p","time_zone":"UTC","settings":{},"experiments":[{"id":"exp_1"}]}',
            "has no definitions of experiments",
        ),
    ],
)
def test_what_is_no_configuration_is_an_error(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableConfigurationError, match=message):
        Configuration.from_json(content)
