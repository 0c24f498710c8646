"""Harm during a ramp: what is done, once for each finding."""

from datetime import timedelta
from typing import Any

import pytest

from engine.design.experiment import Experiment
from engine.design.lifecycle import complete, pause, resume, start
from engine.design.ramp import Ramp, RampStep
from engine.design.ramp_harm import Finding, answer_findings, is_guarded, new_findings
from tests.builders import NOW, an_experiment

_LATER = NOW + timedelta(hours=1)
_HARM = Finding(name="goal_1", message="'Treatment' harms 'Purchase'.", variant_ids=("var_1",))
_ALARM = Finding(name="sample_ratio", message="The split is broken.", is_harm=False)


def ramped(on_harm: Any = "rollback", **last: Any) -> Experiment:
    ramp = Ramp(steps=(RampStep(percent=5, hours=1), RampStep(percent=50, **last)), on_harm=on_harm)
    return start(an_experiment(ramp=ramp), now=NOW)


def answered(experiment: Experiment, *findings: Finding) -> Experiment:
    has_alarm = any(not one.is_harm for one in findings)
    return answer_findings(experiment, findings, has_alarm=has_alarm, now=_LATER)


def test_harm_ends_the_experiment_with_the_control() -> None:
    ended = answered(ramped(), _HARM)
    assert (ended.status, ended.completed_at, ended.rollout) == ("completed", _LATER, None)
    assert ended.conclusion is not None
    assert (ended.conclusion.decision, ended.conclusion.decided_by) == ("keep_control", "ramp")
    assert ended.conclusion.note == _HARM.message
    (harm,) = ended.ramp_harm
    assert (harm.findings, harm.variant_ids, harm.action) == (("goal_1",), ("var_1",), "rollback")


@pytest.mark.parametrize(("on_harm", "status"), [("pause", "paused"), ("tell", "running")])
def test_harm_pauses_or_is_told_where_the_ramp_says_so(on_harm: str, status: str) -> None:
    experiment = answered(ramped(on_harm), _HARM)
    assert (experiment.status, experiment.conclusion) == (status, None)
    assert experiment.ramp_harm[0].action == on_harm


def test_an_alarm_alone_is_told_and_with_harm_nothing_ends_for_good() -> None:
    told = answered(ramped(), _ALARM)
    assert (told.status, told.ramp_harm[0].action, told.ramp_harm[0].variant_ids) == ("running", "tell", ())
    doubtful = answered(ramped(), _HARM, _ALARM)
    assert (doubtful.status, doubtful.conclusion, doubtful.ramp_harm[0].action) == ("paused", None, "pause")


def test_each_finding_is_acted_on_once_so_that_a_person_may_go_on() -> None:
    experiment = ramped("pause")
    assert new_findings(experiment, [_HARM, _ALARM]) == [_HARM, _ALARM]
    resumed = resume(answered(experiment, _HARM), now=_LATER)
    assert new_findings(resumed, [_HARM, _ALARM]) == [_ALARM]


def test_harm_of_a_paused_experiment_ends_it_too() -> None:
    paused = pause(ramped(), now=NOW)
    assert answered(paused, _HARM).status == "completed"
    assert answered(pause(ramped("pause"), now=NOW), _HARM).status == "paused"


def test_a_ramp_guards_from_the_start_to_its_end() -> None:
    assert not is_guarded(an_experiment(ramp=ramped().ramp), now=NOW)
    assert is_guarded(ramped(), now=NOW + timedelta(days=99))
    assert not is_guarded(complete(ramped(), now=_LATER), now=_LATER)
    assert not is_guarded(an_experiment(status="running"), now=NOW)
