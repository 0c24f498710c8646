from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from engine.design.exclusion.group_slots import GroupShare
from engine.design.experiment import Experiment
from engine.design.holdout import (
    HELD,
    HELD_FROM_GROUP,
    SEEN_BEFORE,
    covers,
    deletable_holdout,
    draft_holdout,
    exclusion_by_places,
    percent_of,
    place_in,
    revise_holdout,
)
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, a_project

GOAL = {"name": "Purchase", "goal_type": "custom_event", "config": {"event_name": "purchase"}}


def a_holdout(**fields: Any) -> Experiment:
    """Make a holdout of 5% that is in force since NOW."""
    numbers = count()
    return draft_holdout(
        {"name": "Spring", "percent": 5, "goals": [GOAL], **fields},
        id="hld_1",
        project=a_project(),
        now=NOW,
        new_id=lambda prefix: f"{prefix}_{next(numbers)}",
    )


def test_holdout_begins_at_once_or_at_its_start() -> None:
    assert (a_holdout().status, a_holdout().started_at) == ("running", NOW)
    later = a_holdout(**{"from": (NOW + timedelta(days=1)).isoformat(), "to": "2027-01-01T00:00:00Z"})
    assert (later.status, later.scheduled_start_at) == ("scheduled", NOW + timedelta(days=1))


def test_percent_of_new_visitors_is_held_out_and_the_rest_are_all_others() -> None:
    holdout = a_holdout(percent=10)
    places = [place_in(holdout, f"visitor-{number}", None) for number in range(4_000)]
    # Four standard errors.
    assert abs(sum(place.is_held for place in places) - 400) < 76
    assert all(place.variant is not None and not place.is_known for place in places)
    assert percent_of(holdout) == 10


def test_earlier_event_decides_before_the_hash() -> None:
    holdout = a_holdout()
    held, others = holdout.variants
    assert {place_in(holdout, str(one), held.id).is_held for one in range(50)} == {True}
    assert {place_in(holdout, str(one), others.id).is_held for one in range(50)} == {False}
    seen = [place_in(holdout, str(one), SEEN_BEFORE) for one in range(200)]
    assert {(place.variant, place.is_held, place.is_known) for place in seen} == {(None, False, True)}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"percent": 11}, "percent"),
        ({"percent": 0}, "percent"),
        ({"percent": 2.5}, "percent"),
        ({"name": ""}, "name"),
        ({"goals": []}, "goals"),
        ({"goals": [{**GOAL, "config": {}}]}, "goals[0].config.event_name"),
        ({"from": NOW.isoformat()}, "from"),
        ({"from": "tomorrow"}, "from"),
        ({"to": NOW.isoformat()}, "to"),
        ({"from": "2026-05-02T00:00:00Z", "to": "2026-05-01T00:00:00Z"}, "to"),
        ({"traffic_allocation": 50}, "traffic_allocation"),
    ],
)
def test_wrong_holdout_is_refused_at_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidDesignError) as refused:
        a_holdout(**fields)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_end_is_moved_taken_away_or_now() -> None:
    holdout, later = a_holdout(to="2026-05-01T00:00:00Z"), NOW + timedelta(days=3)
    moved = revise_holdout(holdout, {"to": "2026-06-01T00:00:00Z", "name": "Summer"}, now=later)
    assert (moved.status, moved.name) == ("running", "Summer")
    assert moved.scheduled_end_at is not None
    assert moved.scheduled_end_at.month == 6
    assert revise_holdout(holdout, {"to": None}, now=later).scheduled_end_at is None
    ended = revise_holdout(holdout, {"to": later.isoformat()}, now=later)
    assert (ended.status, ended.completed_at) == ("completed", later)
    with pytest.raises(TransitionError, match="has ended"):
        revise_holdout(ended, {"to": None}, now=later)
    assert revise_holdout(ended, {"name": "Past"}, now=later).name == "Past"


def test_scheduled_holdout_cannot_end_before_it_begins() -> None:
    holdout = a_holdout(**{"from": "2026-05-01T00:00:00Z"})
    with pytest.raises(TransitionError, match="has not begun"):
        revise_holdout(holdout, {"to": "2026-04-01T00:00:00Z"}, now=NOW)


def test_percent_goals_and_start_stay() -> None:
    fields = {"percent": 7, "goals": [], "from": None}
    with pytest.raises(InvalidDesignError) as refused:
        revise_holdout(a_holdout(), fields, now=NOW)
    assert [problem.field for problem in refused.value.problems] == ["percent", "from", "goals"]


def test_holdout_in_force_cannot_be_deleted() -> None:
    holdout = a_holdout()
    with pytest.raises(TransitionError, match="end it first"):
        deletable_holdout(holdout)
    ended = revise_holdout(holdout, {"to": NOW.isoformat()}, now=NOW)
    assert deletable_holdout(ended) == ended


def test_holdout_of_a_group_covers_that_group_alone() -> None:
    own, other = (GroupShare(id=one, percent=50) for one in ("grp_1", "grp_2"))
    of_project, of_group = a_holdout(), a_holdout(group_id="grp_1")
    assert [covers(of_project, one) for one in (own, other, None)] == [True, True, True]
    assert [covers(of_group, one) for one in (own, other, None)] == [True, False, False]
    in_group = place_in(of_group, "v1", of_group.variants[0].id)
    in_project = place_in(of_project, "v1", of_project.variants[0].id)
    by_group = [exclusion_by_places([in_group], one) for one in (own, other, None)]
    assert by_group == [HELD_FROM_GROUP, None, None]
    assert exclusion_by_places([in_group, in_project], other) == HELD
    allowed = place_in(of_group, "v1", of_group.variants[1].id)
    assert exclusion_by_places([allowed], own) is None


def test_group_of_a_holdout_never_changes() -> None:
    with pytest.raises(InvalidDesignError, match="make another"):
        revise_holdout(a_holdout(group_id="grp_1"), {"group_id": None}, now=NOW)
    with pytest.raises(InvalidDesignError, match="group_id"):
        a_holdout(group_id=5)
