"""Copies: the same design, and nothing of what happened to the original."""

from dataclasses import replace

import pytest

from engine.design.copying import copy_experiment, name_of_copy
from engine.design.drafting import WRITABLE_FIELDS
from engine.design.experiment import Experiment
from engine.design.lifecycle import complete, pause, resume, start
from engine.design.ramp import Ramp, RampStep
from engine.design.ramp_steps import take_next_step
from engine.design.variants import Change
from engine.errors import InvalidDesignError
from pipeline.store.catalog.ids import new_id
from tests.builders import NOW, STARTED, a_goal, a_variant, an_experiment

_NEW = {"variants", "goals", "name", "test_key", "scheduled_start_at", "scheduled_end_at"}


def copied(experiment: Experiment, name: str = "Again") -> Experiment:
    return copy_experiment(
        experiment, id="exp_2", name=name, test_key="again", now=NOW, new_id=new_id, metrics={}
    )


def test_a_copy_is_a_draft_of_the_same_design() -> None:
    change = Change(id="chg_1", selector="h1", action="modify_text", value="Hi")
    original = an_experiment(
        status="running",
        tags=("shop",),
        hypothesis="Shorter sells",
        scheduled_end_at=NOW,
        variants=(a_variant(id="var_0", name="A", is_control=True), a_variant(id="var_1", changes=(change,))),
        goals=(a_goal(metric_id="met_1", metric_version=3),),
    )
    ended = complete(resume(pause(original, now=STARTED), now=STARTED), now=NOW)
    copy = copied(ended)
    assert (copy.id, copy.salt, copy.status, copy.test_key) == ("exp_2", "exp_2", "draft", "again")
    assert (copy.started_at, copy.completed_at, copy.scheduled_end_at, copy.pauses) == (None, None, None, ())
    same = set(WRITABLE_FIELDS) - _NEW
    assert {name: getattr(copy, name) for name in same} == {name: getattr(ended, name) for name in same}
    assert copy.variants[1].changes == (replace(change, id=copy.variants[1].changes[0].id),)
    ids = {one.id for each in (ended, copy) for one in each.variants}
    ids |= {one.id for each in (ended, copy) for one in each.goals}
    ids |= {each.variants[1].changes[0].id for each in (ended, copy)}
    assert len(ids) == 8
    # Its metric was deleted.
    goal, before = copy.goals[0], ended.goals[0]
    assert (goal.metric_id, goal.metric_version, goal.config) == (None, None, before.config)


def test_the_copy_of_a_ramped_test_begins_with_the_first_step_of_its_ramp() -> None:
    ramp = Ramp(steps=(RampStep(percent=5, hours=24), RampStep(percent=100)))
    ramped = start(an_experiment(status="draft", started_at=None, ramp=ramp), now=STARTED)
    ended = complete(take_next_step(ramped, now=NOW), now=NOW)
    assert (ended.traffic_allocation, len(ended.ramp_steps)) == (100, 2)
    copy = copied(ended)
    assert (copy.ramp, copy.traffic_allocation, copy.ramp_steps, copy.ramp_harm) == (ramp, 5, (), ())


def test_the_name_is_that_asked_for_or_says_that_it_is_a_copy() -> None:
    assert name_of_copy(an_experiment(name="Button"), {}) == "Copy of Button"
    assert name_of_copy(an_experiment(name="Button"), {"name": "Bigger"}) == "Bigger"
    assert len(name_of_copy(an_experiment(name="x" * 255), {})) == 255
    with pytest.raises(InvalidDesignError):
        name_of_copy(an_experiment(), {"name": ""})
    with pytest.raises(InvalidDesignError):
        name_of_copy(an_experiment(), {"names": "Bigger"})
