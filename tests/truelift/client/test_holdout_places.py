from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.design.exclusion.group_slots import GroupShare
from engine.design.experiment import Experiment
from engine.design.holdout import HELD, HELD_FROM_GROUP, SEEN_BEFORE, place_in
from tests.builders import an_experiment
from tests.engine.design.test_holdout import a_holdout
from tests.truelift.client.configurations import a_configuration, an_answer
from truelift.client.decider import Decider
from truelift.client.exchanges import Polling
from truelift.client.holdout_places import UNKNOWN
from truelift.client.visitor_calls import VisitorCalls, a_visitor

HOLDOUT = a_holdout(percent=10)
HELD_ID, OTHERS_ID = (one.id for one in HOLDOUT.variants)
TEST = an_experiment(status="running", url="https://shop.example/checkout")
VISITORS = [f"visitor-{number}" for number in range(300)]
HELD_OUT = [one for one in VISITORS if place_in(HOLDOUT, one, None).is_held]
OTHERS = [one for one in VISITORS if one not in HELD_OUT]


class Service:
    """Answers with the places of visitors, or not at all."""

    def __init__(self, places: dict[str, str] | None) -> None:
        self.places = places
        self.asked: Counter[str] = Counter()

    def __call__(self, visitor: Any) -> dict[str, str] | None:
        self.asked[visitor.visitor_id] += 1
        if self.places is None:
            return None
        return {HOLDOUT.id: self.places.get(visitor.visitor_id, HELD_ID)}


class Calls(VisitorCalls):
    """The calls of a client whose service is at hand."""

    def __init__(
        self, service: Service, *experiments: Experiment, group_holdouts: Sequence[Experiment] = ()
    ) -> None:
        super().__init__()
        holdouts: Any = {"group_holdouts": group_holdouts} if group_holdouts else {"holdout": HOLDOUT}
        self._polling.take(an_answer(a_configuration(*(experiments or (TEST,)), **holdouts)))
        self._decider = Decider(self._polling, service)
        self.sent: list[tuple[str, str]] = []

    def _wake(self) -> None:
        """Send nothing."""

    def _send(self, event_type: str, visitor_id: str | None, **fields: object) -> bool:
        if fields.get("experiment_id") == HOLDOUT.id:
            self.sent.append((visitor_id or "", str(fields["variant_id"])))
        return super()._send(event_type, visitor_id, **fields)


def test_only_those_who_may_be_held_out_are_asked_about_and_only_once() -> None:
    calls = Calls(service := Service({}))
    for _ in range(2):
        decisions = {one: calls.decide(TEST.test_key, one) for one in VISITORS}
        assert {one for one in VISITORS if decisions[one].variant is None} == set(HELD_OUT)
    assert {decisions[one].reason for one in HELD_OUT} == {HELD.reason}
    assert service.asked == dict.fromkeys(HELD_OUT, 1)
    assert len(HELD_OUT) > 10
    # Both variants are counted once, by the same rule.
    assert sorted(calls.sent) == sorted(
        [*((one, HELD_ID) for one in HELD_OUT), *((one, OTHERS_ID) for one in OTHERS)]
    )


def test_who_was_seen_before_takes_part_and_is_not_counted() -> None:
    calls = Calls(Service(dict.fromkeys(HELD_OUT, SEEN_BEFORE)))
    assert all(calls.variant(TEST.test_key, one) is not None for one in HELD_OUT)
    assert calls.sent == []


def test_a_visitor_with_a_user_is_asked_about() -> None:
    calls = Calls(service := Service({}))
    assert calls.decide(TEST.test_key, OTHERS[0], user_id="u1").reason == HELD.reason
    assert service.asked == {OTHERS[0]: 1}


def test_without_an_answer_those_who_may_be_held_out_take_no_part() -> None:
    calls = Calls(Service(None))
    assert calls.decide(TEST.test_key, HELD_OUT[0]).reason == UNKNOWN
    assert calls.decide(TEST.test_key, OTHERS[0]).variant is not None
    assert calls.decide(TEST.test_key, HELD_OUT[0], forced="Control").variant == "Control"


def test_nobody_is_counted_where_no_test_is_for_the_visitor() -> None:
    calls = Calls(Service({}), TEST, replace(TEST, id="exp_2", test_key="paused", status="paused"))
    for visitor in (HELD_OUT[0], OTHERS[0]):
        calls.decide(TEST.test_key, visitor, url="https://shop.example/other")
        calls.decide("paused", visitor, url="https://shop.example/other")
    assert calls.sent == []
    calls.decide("paused", HELD_OUT[0], url="https://shop.example/checkout")
    assert calls.sent == [(HELD_OUT[0], HELD_ID)]


def test_polling_that_takes_a_configuration_with_a_holdout_has_it() -> None:
    polling = Polling(30)
    polling.take(an_answer(a_configuration(TEST, holdout=HOLDOUT)))
    assert polling.configuration is not None
    assert polling.configuration.holdouts == (HOLDOUT,)
    visitor = a_visitor(HELD_OUT[0], None, None, None)
    assert Decider(polling, Service({})).has_unknown(visitor)


def test_a_holdout_of_a_group_asks_and_counts_at_the_first_decision_of_the_group() -> None:
    grouped = replace(TEST, id="exp_2", test_key="grouped", group=GroupShare(id="grp_1", percent=50))
    of_group = replace(HOLDOUT, held_group_id="grp_1")
    calls = Calls(service := Service({}), TEST, grouped, group_holdouts=[of_group])
    held, other = HELD_OUT[0], OTHERS[0]
    for visitor in (held, other):
        assert calls.decide(TEST.test_key, visitor).variant is not None
    assert (calls.sent, service.asked) == ([], {})
    for _ in range(2):
        assert calls.decide("grouped", held).reason == HELD_FROM_GROUP.reason
        assert calls.decide("grouped", other).variant is not None
        assert calls.decide(TEST.test_key, held).variant is not None
    assert (calls.sent, service.asked) == ([(held, HELD_ID), (other, OTHERS_ID)], {held: 1})
