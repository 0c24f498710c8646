"""Published assignment vectors: the service, its client for servers and the browser agree on every one."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
import pytest

from api.sdk.assignment_vectors import ASK, FILE, GROUPS
from engine.design.targeting.fields import TARGETING_FIELDS
from pipeline.assignment.targeting_attributes import Visitor
from pipeline.events.attributes import UNKNOWN_CLIENT
from tests import contract
from tests.api.sdk.browser.javascript import JavaScript, javascript
from tests.data import make_assignment_vectors
from truelift.client.configuration import Configuration

VECTORS = msgspec.json.decode(FILE.read_bytes())
CASES: list[dict[str, Any]] = VECTORS["cases"]


@pytest.fixture(scope="module")
def script() -> Iterator[JavaScript]:
    with javascript() as running:
        yield running


def experiment_of(case: dict[str, Any]) -> dict[str, Any]:
    config = VECTORS["configs"][case["config"]]
    shown = [*config["experiments"], *config["rollouts"]]
    (found,) = (one for one in shown if one.get("experiment_id", one["id"]) == case["experiment"])
    return dict(found)


def test_the_file_is_what_the_service_decides() -> None:
    assert FILE.read_text(encoding="utf-8") == make_assignment_vectors.build()


def test_the_file_has_the_vectors_of_the_contract_as_they_are() -> None:
    assert VECTORS["contract"] == contract.assignment_vectors()


def test_the_file_has_2000_cases_of_every_group_and_outcome() -> None:
    assert [case["case"] for case in CASES] == list(range(len(CASES)))
    assert len(CASES) >= 2000
    assert Counter(case["group"] for case in CASES).keys() == GROUPS.keys()
    assert {0, 1, 19, None, ASK} <= {case["expected"] for case in CASES}


def test_the_file_has_every_operator_of_every_field() -> None:
    told = {
        (condition["field"], condition["operator"])
        for config in VECTORS["configs"]
        for one in config["experiments"]
        for condition in conditions_of(one["definition"]["targeting_rules"]["root"])
    }
    assert told == {(name, one) for name, field in TARGETING_FIELDS.items() for one in field.operators}


def conditions_of(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "children" not in node:
        yield node
    for child in node.get("children", ()):
        yield from conditions_of(child)


def test_the_browser_decides_every_case_of_the_present(script: JavaScript) -> None:
    now = make_assignment_vectors.USUAL_TIME.isoformat()
    different = []
    for case in CASES:
        if "first_seen" in case:
            continue
        experiment = experiment_of(case)
        config = {**VECTORS["configs"][case["config"]], "experiments": [experiment]}
        # Nothing is kept under the id of a rollout.
        stored = None if "experiment_id" in experiment else case.get("stored")
        visit = {name: case.get(name) for name in ("visitor_id", "user_id", "url")}
        visit["attributes"] = case.get("attributes", {})
        found = script.call("vector", config, visit, stored, case.get("now", now))
        if found != case["expected"]:
            different.append((case, found))
    assert different == []


def test_a_server_decides_alike_by_the_configuration_in_the_file() -> None:
    configurations = [Configuration.from_json(msgspec.json.encode(one)) for one in VECTORS["configs"]]
    decided = 0
    for case in CASES:
        if "first_seen" in case or case["expected"] == ASK or "page" in case.get("why", ""):
            continue
        configuration = configurations[case["config"]]
        experiment = configuration.experiments[case["experiment"]]
        visitor = Visitor(
            visitor_id=case["visitor_id"],
            user_id=case.get("user_id"),
            url=case["url"],
            attributes=case.get("attributes", {}),
            client=UNKNOWN_CLIENT,
        )
        made = configuration.decide(
            experiment,
            visitor,
            now=datetime.fromisoformat(case["now"]) if "now" in case else make_assignment_vectors.USUAL_TIME,
            stored={experiment.id: case["stored"]} if "stored" in case else {},
            forced={},
        )
        assert made is not None
        found = None if made.variant is None else experiment.variants.index(made.variant)
        assert found == case["expected"], case
        decided += 1
    assert decided > 1500
