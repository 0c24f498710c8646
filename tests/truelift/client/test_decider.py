"""Weights that changed: a visitor keeps the first variant, by the cookie or by the service."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec

from engine.design.assignment import bucket_variant
from engine.design.conclusion import Rollout
from engine.design.experiment import Experiment
from engine.design.reweighting import reweight
from tests.builders import NOW, STARTED, an_experiment
from tests.truelift.client.configurations import a_configuration, an_answer
from truelift.client.assigned_variants import AssignedVariants
from truelift.client.decider import UNSETTLED, Decider
from truelift.client.exchanges import Polling
from truelift.client.visitor_calls import a_visitor

BEFORE = an_experiment(status="running", weights=(1, 1))
CHANGED = reweight(BEFORE, (1, 9), now=STARTED + timedelta(hours=1))
VISITORS = [f"visitor-{number}" for number in range(200)]


def variant_id(experiment: Experiment, visitor_id: str) -> str:
    index = bucket_variant(experiment, visitor_id)
    assert index is not None
    return experiment.variants[index].id


MOVED = [one for one in VISITORS if variant_id(BEFORE, one) != variant_id(CHANGED, one)]
SETTLED = [one for one in VISITORS if one not in MOVED]


class Service:
    """Answers with the variants by the weights before, or not at all."""

    def __init__(self, *, answers: bool = True) -> None:
        self.answers = answers
        self.asked: Counter[str] = Counter()

    def __call__(self, visitor: Any) -> dict[str, str] | None:
        self.asked[visitor.visitor_id] += 1
        return {CHANGED.id: variant_id(BEFORE, visitor.visitor_id)} if self.answers else None


def a_decider(service: Service, experiment: Experiment = CHANGED) -> Decider:
    polling = Polling(30)
    polling.take(an_answer(a_configuration(experiment)))
    return Decider(polling, service)


def decided(decider: Decider, visitor_id: str, assigned: AssignedVariants | None = None) -> str | None:
    visitor = a_visitor(visitor_id, None, None, None)
    return decider.decide(CHANGED.test_key, visitor, assigned=assigned, forced=None).variant_id


def test_some_visitors_would_move_and_others_would_not() -> None:
    assert len(MOVED) > 50
    assert len(SETTLED) > 50


def test_the_service_is_asked_once_about_each_visitor_who_would_move() -> None:
    decider = a_decider(service := Service())
    for _ in range(2):
        assert {one: decided(decider, one) for one in VISITORS} == {
            one: variant_id(BEFORE, one) for one in VISITORS
        }
    assert service.asked == dict.fromkeys(MOVED, 1)


def test_without_an_answer_those_who_would_move_take_no_part_and_the_others_do() -> None:
    decider = a_decider(Service(answers=False))
    assert {decided(decider, one) for one in MOVED} == {None}
    assert {one: decided(decider, one) for one in SETTLED} == {
        one: variant_id(BEFORE, one) for one in SETTLED
    }
    visitor = a_visitor(MOVED[0], None, None, None)
    decision = decider.decide(CHANGED.id, visitor, assigned=None, forced=None)
    assert (decision.status, decision.reason, decision.experiment_id) == ("excluded", UNSETTLED, None)


def test_the_cookie_tells_the_variant_without_a_question() -> None:
    decider = a_decider(service := Service(answers=False))
    for visitor in MOVED:
        kept = AssignedVariants()
        kept.keep(BEFORE, visitor, variant_id(BEFORE, visitor))
        assert decided(decider, visitor, AssignedVariants(kept.cookie)) == variant_id(BEFORE, visitor)
    assert service.asked == {}


def test_a_new_visitor_has_the_present_weights_without_a_question_unless_it_is_a_known_user() -> None:
    decider = a_decider(service := Service())
    new = AssignedVariants(is_new_visitor=True)
    assert {one: decided(decider, one, new) for one in MOVED} == {
        one: variant_id(CHANGED, one) for one in MOVED
    }
    assert service.asked == {}
    a_decider(service).decide(CHANGED.id, a_visitor(MOVED[0], "u1", None, None), assigned=new, forced=None)
    assert service.asked == {MOVED[0]: 1}


def test_nobody_is_asked_about_weights_that_never_changed() -> None:
    decider = a_decider(service := Service(answers=False), BEFORE)
    assert None not in {decided(decider, one) for one in VISITORS}
    assert service.asked == {}


def test_nobody_is_asked_about_visitors_outside_the_traffic_or_in_a_preview() -> None:
    none = reweight(an_experiment(status="running", traffic_allocation=0), (1, 9), now=STARTED)
    decider = a_decider(service := Service(), none)
    assert {decided(decider, one) for one in VISITORS} == {None}
    preview = a_decider(service).decide(
        CHANGED.id, a_visitor(MOVED[0], None, None, None), assigned=None, forced="var_1"
    )
    assert preview.variant_id == "var_1"
    assert service.asked == {}


def test_the_first_variant_is_unknown_until_it_is_told_of_those_who_would_move_and_take_part() -> None:
    visitors = {one: a_visitor(one, None, None, None) for one in VISITORS}
    decider = a_decider(Service())
    assert [one for one in VISITORS if decider.has_unknown(visitors[one])] == MOVED
    for one in MOVED:
        decider.hold(visitors[one], {CHANGED.id: variant_id(BEFORE, one)})
    assert not any(map(decider.has_unknown, visitors.values()))
    outside = reweight(an_experiment(status="running", traffic_allocation=0), (1, 9), now=STARTED)
    paused = replace(CHANGED, status="paused")
    for experiment in (outside, paused):
        assert not any(map(a_decider(Service(), experiment).has_unknown, visitors.values()))


def test_a_rollout_is_for_everybody_whatever_the_test_gave_and_asks_nobody() -> None:
    rollout = Rollout(id="rol_1", variant_id="var_1", started_at=NOW)
    ended = replace(CHANGED, status="completed", completed_at=NOW, rollout=rollout)
    sent = msgspec.json.decode(a_configuration(ended))
    sent["rollouts"], sent["experiments"] = sent["experiments"], []
    polling, service = Polling(30), Service()
    polling.take(an_answer(msgspec.json.encode(sent)))
    decider = Decider(polling, service)
    for one in MOVED[:20]:
        visitor = a_visitor(one, None, None, None)
        found = decider.decide(CHANGED.test_key, visitor, assigned={CHANGED.id: "var_0"}, forced="var_0")
        assert (found.variant_id, found.status) == ("var_1", "rollout")
        # Nothing is remembered of a visitor whom no test has assigned.
        assert decider.decided.of_decision(found) is None
    assert not service.asked
