"""Decisions about experiments in every status."""

from datetime import timedelta
from typing import Any

import pytest

from engine.design.conclusion import OpenRisk, ShipRequest
from engine.design.experiment import Experiment
from engine.design.lifecycle import archive, complete
from engine.design.shipping import Decider, end_rollout, ship
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, an_experiment

LATER = NOW + timedelta(hours=1)
ADA = Decider("mem_1", "Ada", "rol_1")
RISKS = (OpenRisk(risk="sample_ratio", message="Split."), OpenRisk(risk="goal_2", message="Harm."))


def shipped(experiment: Experiment, *, risks: tuple[OpenRisk, ...] = (), **fields: Any) -> Experiment:
    asked = ShipRequest(**{"decision": "ship", "variant_id": "var_1", "note": "Better", **fields})
    return ship(experiment, asked, risks, by=ADA, now=LATER)


@pytest.mark.parametrize("status", ["running", "paused"])
def test_a_decision_ends_an_open_experiment_as_its_completion_does(status: str) -> None:
    before = an_experiment(status=status)
    found = shipped(before)
    ended = complete(before, now=LATER)
    assert (found.status, found.completed_at, found.pauses) == ("completed", ended.completed_at, ended.pauses)
    assert found.conclusion is not None
    assert (found.conclusion.decision, found.conclusion.variant_id) == ("ship", "var_1")
    assert (found.conclusion.note, found.conclusion.decided_at) == ("Better", LATER)
    assert (found.conclusion.decided_by, found.conclusion.decided_by_name) == ("mem_1", "Ada")


def test_a_completed_experiment_is_decided_about_once() -> None:
    before = an_experiment(status="completed")
    found = shipped(before, decision="keep_control", variant_id=None)
    assert (found.completed_at, found.updated_at) == (before.completed_at, LATER)
    for again in (found, an_experiment(status="archived", conclusion=found.conclusion)):
        with pytest.raises(TransitionError) as error:
            shipped(again)
        assert error.value.code == "already_decided"


@pytest.mark.parametrize("status", ["draft", "scheduled", "archived"])
def test_nothing_is_decided_before_the_start_or_in_the_archive(status: str) -> None:
    with pytest.raises(TransitionError, match="must be running or paused or completed") as error:
        shipped(an_experiment(status=status))
    assert error.value.code == "invalid_transition"


@pytest.mark.parametrize(("variant_id", "word"), [("var_0", "keep_control"), ("var_9", "no variant")])
def test_only_another_variant_than_the_control_is_shipped(variant_id: str, word: str) -> None:
    with pytest.raises(InvalidDesignError, match=word):
        shipped(an_experiment(status="running"), variant_id=variant_id)


def test_every_open_risk_is_accepted_by_its_name_or_nothing_is_shipped() -> None:
    running = an_experiment(status="running")
    for accepted, missing in (((), ["sample_ratio", "goal_2"]), (("sample_ratio", "other"), ["goal_2"])):
        with pytest.raises(TransitionError) as error:
            shipped(running, risks=RISKS, accept_risks=accepted)
        assert (error.value.code, [one.field for one in error.value.problems]) == ("open_risks", missing)
    found = shipped(running, risks=RISKS, accept_risks=("goal_2", "sample_ratio", "over"))
    assert found.conclusion is not None
    assert found.conclusion.accepted_risks == RISKS


def test_keeping_the_control_accepts_no_risk() -> None:
    found = shipped(an_experiment(status="running"), decision="keep_control", variant_id=None, risks=RISKS)
    assert found.conclusion is not None
    assert found.conclusion.accepted_risks == ()


def test_a_rollout_lasts_from_the_decision_to_its_end() -> None:
    found = shipped(an_experiment(status="running"))
    assert found.rollout is not None
    assert (found.rollout.id, found.rollout.started_at, found.rollout.ended_at) == ("rol_1", LATER, None)
    assert found.shipped == found.variants[1]
    end = LATER + timedelta(days=60)
    ended = end_rollout(archive(found, now=LATER), now=end)
    assert ended.rollout is not None
    assert (ended.status, ended.rollout.ended_at, ended.shipped) == ("archived", end, None)
    for without in (ended, an_experiment(status="running")):
        with pytest.raises(TransitionError) as error:
            end_rollout(without, now=end)
        assert error.value.code == "no_rollout"


def test_what_a_site_has_built_in_or_does_not_want_is_not_rolled_out() -> None:
    for fields in ({"rollout": False}, {"decision": "keep_control", "variant_id": None}):
        assert shipped(an_experiment(status="running"), **fields).rollout is None
