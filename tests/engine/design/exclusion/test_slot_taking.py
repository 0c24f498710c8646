"""Slots taken and given back: two tests share no visitor, and no free slot is lost."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design import lifecycle
from engine.design.assignment import assign, exclusion_of
from engine.design.conclusion import ShipRequest
from engine.design.copying import copy_experiment
from engine.design.exclusion.group_slots import SLOTS, GroupShare
from engine.design.exclusion.slot_taking import GroupUse, slots_of, with_slots
from engine.design.experiment import Experiment
from engine.design.shipping import Decider, end_rollout, ship
from engine.errors import TransitionError
from pipeline.store.catalog.experiments import Decide
from pipeline.store.catalog.ids import new_id
from tests.builders import NOW, a_group, an_experiment
from tests.examples import examples

LATER = NOW + timedelta(days=7)
BY = Decider(member_id="mem_1", name="Ada", rollout_id="rol_1")
SHIP = ShipRequest(decision="ship", variant_id="var_1", note="Better.")
VISITORS = [f"v_{number}" for number in range(400)]


def a_draft(number: int = 1, percent: int = 30, **fields: Any) -> Experiment:
    share = GroupShare(id="grp_1", percent=percent)
    return an_experiment(id=f"exp_{number}", name=f"Test {number}", group=share, **fields)


def begun(draft: Experiment, *holders: Experiment) -> Experiment:
    return with_slots(lifecycle.start(draft, now=NOW), GroupUse(a_group(), holders))


def found_in(*tests: Experiment) -> Counter[str]:
    return Counter(one for test in tests for one in VISITORS if assign(test, one).variant is not None)


def test_tests_of_a_group_take_the_first_free_slots_and_share_no_visitor() -> None:
    first = begun(a_draft(1))
    second = begun(a_draft(2, 70), first)
    assert [(one.first, one.beyond) for one in (*slots_of(first), *slots_of(second))] == [
        (0, 3000),
        (3000, SLOTS),
    ]
    assert found_in(first, second) == Counter(VISITORS)
    outside = next(one for one in VISITORS if assign(first, one).variant is None)
    exclusion = exclusion_of(first, outside)
    assert exclusion is not None
    assert exclusion.code == "outside_group_slots"


def test_within_its_slots_a_test_splits_by_its_weights_and_traffic() -> None:
    half = begun(a_draft(1, 30, traffic_allocation=50, weights=(1, 3)))
    many = [assign(half, f"visitor {number}").variant for number in range(20_000)]
    first, second = (many.count(one) for one in half.variants)
    # 15% take part, and a quarter of these are in the control: within four standard errors.
    assert abs(first + second - 3000) < 4 * (20_000 * 0.15 * 0.85) ** 0.5
    assert abs(first - (first + second) / 4) < 4 * ((first + second) * 3 / 16) ** 0.5


def test_a_first_assignment_wins_over_the_slots() -> None:
    first = begun(a_draft())
    outside = next(one for one in VISITORS if assign(first, one).variant is None)
    kept = assign(first, outside, stored_variant_id="var_1")
    assert (kept.status, kept.variant) == ("existing", first.variants[1])


def test_a_pause_keeps_the_slots_and_an_end_gives_them_back() -> None:
    first = begun(a_draft())
    paused = lifecycle.pause(first, now=LATER)
    assert slots_of(paused) == slots_of(lifecycle.resume(paused, now=LATER)) == slots_of(first) != ()
    ended = lifecycle.complete(paused, now=LATER)
    assert slots_of(ended) == ()
    # The record says which they were.
    assert ended.group_slots is not None
    assert (ended.group_slots.slots, ended.group_slots.released_at) == (slots_of(first), LATER)


def test_a_rollout_keeps_the_slots_until_it_ends() -> None:
    first = begun(a_draft())
    shipped = ship(first, SHIP, (), by=BY, now=LATER)
    assert slots_of(shipped) == slots_of(lifecycle.archive(shipped, now=LATER)) == slots_of(first)
    assert slots_of(end_rollout(shipped, now=LATER)) == ()
    kept = ship(first, ShipRequest(decision="keep_control", note="No."), (), by=BY, now=LATER)
    # What was given back may be another's by now.
    late = ship(lifecycle.complete(first, now=LATER), SHIP, (), by=BY, now=LATER)
    assert slots_of(kept) == slots_of(late) == ()


def test_a_copy_has_the_wish_and_no_slots() -> None:
    given = {"name": "Copy", "test_key": "copy", "metrics": {}, "new_id": new_id}
    copied = copy_experiment(begun(a_draft()), id="exp_9", now=LATER, **given)  # type: ignore[arg-type]
    assert (copied.group, copied.group_slots) == (GroupShare(id="grp_1", percent=30), None)


def test_too_few_slots_say_what_is_free_and_when_more_are() -> None:
    first = begun(a_draft(1, 50, scheduled_end_at=LATER))
    second = ship(begun(a_draft(2, 30), first), SHIP, (), by=BY, now=LATER)
    with pytest.raises(TransitionError) as refused:
        begun(a_draft(3, 40), second, first)
    assert refused.value.code == "start_requirements_not_met"
    (problem,) = refused.value.problems
    assert problem.field == "group.percent"
    assert problem.message == (
        "40% of 'Checkout' is asked for, and 20% is free: ask for less, or wait (50% is of 'Test 1', until "
        f"{LATER.isoformat()}; 30% is of the rollout of 'Test 2', no planned end)"
    )


def test_other_units_and_a_group_that_is_gone_are_refused() -> None:
    with pytest.raises(TransitionError) as refused:
        begun(a_draft(2, unit="user"), begun(a_draft(1)))
    assert [one.field for one in refused.value.problems] == ["group.id"]
    with pytest.raises(TransitionError) as refused:
        with_slots(lifecycle.start(a_draft(), now=NOW), None)
    assert [one.field for one in refused.value.problems] == ["group.id"]


def test_a_test_without_a_group_takes_every_slot_and_none() -> None:
    alone = begun(replace(a_draft(), group=None))
    assert alone.group_slots is None
    assert found_in(alone) == Counter(VISITORS)


CHANGES: dict[str, Decide] = {
    "complete": partial(lifecycle.complete, now=LATER),
    "ship": partial(ship, request=SHIP, risks=(), by=BY, now=LATER),
    "pause": partial(lifecycle.pause, now=LATER),
    "end_rollout": partial(end_rollout, now=LATER),
}
STEPS = st.lists(
    st.tuples(st.sampled_from(("start", *CHANGES)), st.integers(1, 100)),
    max_size=40,
)


def moved(tests: dict[str, Experiment], step: str, number: int) -> None:
    """Take a step with one of the tests: a start of a new one, or the end of one that has slots."""
    holding = [one for one in tests.values() if slots_of(one)]
    if step == "start":
        use = GroupUse(a_group(), holding)
        draft = a_draft(len(tests), number)
        if use.free_percent >= number:
            tests[draft.id] = begun(draft, *holding)
        else:
            with pytest.raises(TransitionError):
                begun(draft, *holding)
    elif holding:
        chosen = holding[number % len(holding)]
        # A test that has ended has no end, and one without a rollout none of it.
        with suppress(TransitionError):
            tests[chosen.id] = CHANGES[step](chosen)


@examples(25, 300)
@given(STEPS)
def test_in_any_order_no_slot_is_shared_or_lost(steps: list[tuple[str, int]]) -> None:
    tests: dict[str, Experiment] = {}
    for step, number in steps:
        moved(tests, step, number)
        holding = [one for one in tests.values() if slots_of(one)]
        taken = Counter(
            slot for one in holding for part in slots_of(one) for slot in range(part.first, part.beyond, 100)
        )
        assert set(taken.values()) <= {1}
        use = GroupUse(a_group(), holding)
        assert len(taken) + use.free_percent == 100
    running = [one for one in tests.values() if one.status == "running"]
    assert set(found_in(*running).values()) <= {1}
