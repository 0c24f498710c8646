"""Reviews: who may approve, what voids a yes, and what is refused without one."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.design.conclusion import ShipRequest
from engine.design.exclusion.group_slots import GroupSlots, SlotRange
from engine.design.experiment import Experiment
from engine.design.lifecycle import archive, complete, pause, resume, start
from engine.design.ramp import Harm, Ramp, RampStep
from engine.design.ramp_steps import take_next_step
from engine.design.review import MOST_REVIEWS, ActingMember, ReviewAnswer, ReviewFacts, ReviewRequest
from engine.design.reviewing import (
    approve,
    ask_for_review,
    current_review,
    lacks_yes,
    require_yes,
    state_of,
    waiting_review,
    withdraw,
)
from engine.errors import InvalidDesignError, TransitionError
from engine.vocabulary import ReviewPurpose
from tests.builders import NOW, an_experiment

MIA, BO, CY = (ActingMember(f"mem_{name.lower()}", name) for name in ("Mia", "Bo", "Cy"))
FACTS = ReviewFacts(is_required=True, member_ids=frozenset({MIA.id, BO.id, CY.id}), changed_by=MIA.id)
STEPS = (RampStep(percent=5, hours=24), RampStep(percent=100))
DRAFT = an_experiment(status="draft", ramp=Ramp(steps=STEPS))
RUNNING = start(DRAFT, now=NOW)
SHIPPED = RUNNING.variants[1].id
HARM = Harm(found_at=NOW, findings=("goal_1",), variant_ids=(), action="tell", message="Harm.")


def asked(experiment: Experiment, purpose: ReviewPurpose = "start", **fields: Any) -> Experiment:
    fields = {"variant_id": SHIPPED, **fields} if purpose == "ship" else fields
    request = ReviewRequest(purpose=purpose, **fields)
    return ask_for_review(experiment, request, FACTS, by=MIA, now=NOW)


def approved(experiment: Experiment, purpose: ReviewPurpose = "start", **fields: Any) -> Experiment:
    return approve(asked(experiment, purpose, **fields), ReviewAnswer(purpose=purpose), by=BO, now=NOW)


def reason_of(step: Callable[[], object], code: str) -> str:
    with pytest.raises(TransitionError) as refused:
        step()
    assert refused.value.code == code
    return refused.value.problems[0].message if refused.value.problems else refused.value.message


def test_a_yes_of_another_member_lets_the_step_be_taken() -> None:
    cases: tuple[tuple[Experiment, ReviewPurpose], ...] = ((DRAFT, "start"), (RUNNING, "ship"))
    for experiment, purpose in cases:
        assert "ask for a review" in (lacks_yes(experiment, purpose, FACTS) or "")
        waits = asked(experiment, purpose)
        assert waiting_review(waits) is waits.reviews[-1]
        assert lacks_yes(waits, purpose, FACTS) == "waits for the yes of a member other than Mia"
        said_yes = approved(experiment, purpose)
        assert (lacks_yes(said_yes, purpose, FACTS), waiting_review(said_yes)) == (None, None)
        assert said_yes.reviews[-1].approved_by_name == "Bo"
    assert lacks_yes(DRAFT, "start", ReviewFacts(is_required=False)) is None


def test_neither_the_asker_nor_the_last_to_change_it_approves_and_no_yes_is_given_twice() -> None:
    answer = ReviewAnswer(purpose="start")
    request = ReviewRequest(purpose="start")
    of_bo = ask_for_review(DRAFT, request, replace(FACTS, changed_by=BO.id), by=MIA, now=NOW)
    assert "asked for" in reason_of(lambda: approve(of_bo, answer, by=MIA, now=NOW), "not_reviewable")
    assert "last change" in reason_of(lambda: approve(of_bo, answer, by=BO, now=NOW), "not_reviewable")
    yes = approve(of_bo, answer, by=CY, now=NOW)
    assert "approved" in reason_of(lambda: approve(yes, answer, by=CY, now=NOW), "not_reviewable")
    assert "nobody" in reason_of(lambda: approve(DRAFT, answer, by=CY, now=NOW), "not_reviewable")


PAID = tuple(replace(one, payload={"price": None}) for one in DRAFT.variants)
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("name", {"name": "Another"}),
    ("schedule", {"scheduled_start_at": NOW + timedelta(days=1)}),
    ("traffic", {"ramp": None, "traffic_allocation": 50}),
    ("ramp", {"ramp": Ramp(steps=STEPS, on_harm="tell")}),
    ("weight", {"variants": tuple(replace(one, weight=60.0) for one in DRAFT.variants)}),
    ("payload", {"public_variants": True, "variants": PAID}),
    ("goal", {"goals": (replace(DRAFT.goals[0], name="Another"),)}),
    ("owner", {"assigned_user_ids": ("mem_bo",)}),
    ("harm", {"ramp_harm": (HARM,)}),
)


@pytest.mark.parametrize("fields", [fields for _, fields in CHANGES], ids=[name for name, _ in CHANGES])
@pytest.mark.parametrize("purpose", ["start", "ship"])
def test_any_change_voids_a_yes_and_the_way_back_restores_it(
    purpose: ReviewPurpose, fields: dict[str, Any]
) -> None:
    before = approved(DRAFT if purpose == "start" else RUNNING, purpose)
    after = replace(before, **fields)
    assert "has changed" in (lacks_yes(after, purpose, FACTS) or "")
    assert state_of(after, after.reviews[-1]) == "changed"
    assert "ask for another" in reason_of(
        lambda: approve(after, ReviewAnswer(purpose=purpose), by=CY, now=NOW), "not_reviewable"
    )
    back = replace(after, **{name: getattr(before, name) for name in fields})
    assert lacks_yes(back, purpose, FACTS) is None


def test_steps_of_the_life_are_no_change() -> None:
    begun = take_next_step(start(approved(DRAFT), now=NOW), now=NOW)
    assert (state_of(begun, begun.reviews[0]), begun.traffic_allocation) == ("approved", 100)
    paused = pause(begun, now=NOW)
    assert lacks_yes(paused, "start", FACTS) is None
    slots = (SlotRange(first=0, beyond=5_000),)
    taken = GroupSlots(salt="grp_1", bucketing_version=1, slots=slots, taken_at=NOW)
    assert lacks_yes(replace(paused, group_slots=taken), "start", FACTS) is None
    edited = replace(paused, name="Another")
    assert "has changed" in (lacks_yes(edited, "start", FACTS) or "")
    again = approved(resume(paused, now=NOW), "ship")
    assert lacks_yes(complete(again, now=NOW), "ship", FACTS) is None


def test_what_is_shipped_is_what_was_approved() -> None:
    yes = approved(RUNNING, "ship", accept_risks=("sample_ratio",))
    ship = ShipRequest(decision="ship", variant_id=SHIPPED, note="Better.", accept_risks=("sample_ratio",))
    assert lacks_yes(yes, "ship", FACTS, ship) is None
    for other in ({"variant_id": "var_0"}, {"rollout": False}, {"accept_risks": ()}):
        differs = replace(ship, **other)
        said = reason_of(lambda one=differs: require_yes(yes, "ship", FACTS, one), "review_required")  # type: ignore[misc] # a default
        assert "differ from what was approved" in said


def test_a_yes_ends_with_a_withdrawal_a_further_request_or_its_member() -> None:
    yes = approved(DRAFT)
    back = withdraw(yes, ReviewAnswer(purpose="start", note="Wait."), by=CY, now=NOW)
    assert (lacks_yes(back, "start", FACTS), back.reviews[-1].answer) == (
        "Cy withdrew the review: ask for another one",
        "Wait.",
    )
    more = asked(yes)
    assert [state_of(more, one) for one in more.reviews] == ["closed", "waiting"]
    gone = replace(FACTS, member_ids=frozenset({MIA.id}))
    assert "no member any more" in (lacks_yes(yes, "start", gone) or "")
    said = reason_of(lambda: require_yes(back, "start", FACTS), "start_requirements_not_met")
    assert said.startswith("Cy withdrew")


def test_only_what_can_be_done_is_reviewed() -> None:
    answer = ReviewAnswer(purpose="start")
    running = start(approved(DRAFT), now=NOW)
    reason_of(lambda: asked(running), "invalid_transition")
    reason_of(lambda: withdraw(running, answer, by=BO, now=NOW), "invalid_transition")
    reason_of(lambda: asked(archive(complete(RUNNING, now=NOW), now=NOW), "ship"), "invalid_transition")
    reason_of(lambda: asked(replace(DRAFT, goals=())), "start_requirements_not_met")
    with pytest.raises(InvalidDesignError):
        asked(RUNNING, "ship", variant_id=RUNNING.variants[0].id)
    for fields in (
        {"purpose": "ship"},
        {"purpose": "start", "variant_id": "v"},
        {"purpose": "start", "accept_risks": ("a",)},
    ):
        with pytest.raises(InvalidDesignError):
            ReviewRequest(**fields)


def test_the_last_hundred_reviews_are_kept() -> None:
    experiment = DRAFT
    for _ in range(MOST_REVIEWS + 1):
        experiment = asked(experiment)
    assert len(experiment.reviews) == MOST_REVIEWS
    assert current_review(experiment, "start") is experiment.reviews[-1]
