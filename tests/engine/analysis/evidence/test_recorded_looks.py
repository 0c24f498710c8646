from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.analysis.evidence.recorded_looks import (
    RecordedComparison,
    RecordedLook,
    RecordedPlan,
    counted_at_looks,
    is_to_be_added,
    outcomes_since,
    plan_look,
    with_ids,
)
from tests.builders import STARTED

PLAN = RecordedPlan(
    source="given",
    required_visitors=1000,
    tuned_to=1000.0,
    mean=0.1,
    variance=0.09,
    minimum_effect=0.1,
    detectable_effect=0.1,
    equivalence_margins={"goal_1": 0.1},
    alpha=0.05,
    variants=2,
)


def a_look(day: float | None, **overrides: Any) -> RecordedLook:
    fields: dict[str, Any] = {"is_at_plan": False, "comparisons": {}, **overrides}
    return RecordedLook(
        taken_at=STARTED, running_days=day, visitors=500, plan=PLAN, recommendation="keep_running", **fields
    )


def with_finding(day: float, **findings: bool) -> RecordedLook:
    found = RecordedComparison(n=250, mean=0.1, m2=22.5, m3=18.0, **findings)
    return a_look(day, comparisons={"goal_1": {"var_1": found}})


def test_look_at_the_plan_is_the_only_one_there() -> None:
    ordinary, at_plan = a_look(7.0), a_look(8.0, is_at_plan=True)
    assert plan_look((ordinary,)) is None
    assert plan_look((ordinary, at_plan)) is at_plan


@pytest.mark.parametrize(
    ("look", "looks", "is_added"),
    [
        (a_look(0.5), (), False),
        (a_look(None), (), False),
        (a_look(1.0), (), True),
        (a_look(1.9), (a_look(1.1),), False),
        (a_look(2.0), (a_look(1.1),), True),
        (with_finding(1.9, loses=True), (a_look(1.1),), True),
        (with_finding(1.9, loses=True), (with_finding(1.1, loses=True),), False),
        (with_finding(1.9, loses=True, is_broken=True), (with_finding(1.1, loses=True),), True),
        (replace(a_look(None), is_at_plan=True), (a_look(1.1),), True),
        (a_look(9.0, is_at_plan=True), (a_look(8.0, is_at_plan=True),), False),
        (a_look(9.0), (a_look(8.0, is_at_plan=True),), True),
    ],
)
def test_look_is_added_for_the_plan_a_new_day_or_news(
    look: RecordedLook, looks: tuple[RecordedLook, ...], *, is_added: bool
) -> None:
    assert is_to_be_added(look, looks) == is_added


def test_looks_with_other_ids_leave_out_what_has_none() -> None:
    found = RecordedComparison(n=250, mean=0.1, m2=22.5, m3=18.0, wins=True)
    look = a_look(
        8.0,
        variant_id="var_1",
        comparisons={"goal_1": {"var_0": found, "var_1": found, "var_2": found}, "goal_2": {"var_1": found}},
    )
    (renamed,) = with_ids([look], goals={"goal_1": "bought"}, variants={"var_0": "A", "var_1": "B"})
    assert renamed.comparisons == {"bought": {"A": found, "B": found}}
    assert renamed.plan.equivalence_margins == {"bought": 0.1}
    assert renamed.variant_id == "B"
    (without,) = with_ids([look], goals={}, variants={})
    assert (without.comparisons, without.variant_id) == ({}, None)


def test_looks_count_known_outcomes_and_earlier_versions_visitors() -> None:
    arms = {name: RecordedComparison(n=60, mean=0.1, m2=5.4, m3=4.3) for name in ("var_1", "var_2")}
    earlier = a_look(7.0, comparisons={"goal_1": arms}, earlier_visitors=(400,))
    now = a_look(8.0, known_outcomes=150, earlier_visitors=counted_at_looks([earlier]))
    assert counted_at_looks([]) == ()
    assert counted_at_looks([earlier, now]) == (400, 500, 150)
    # The moments tell how many outcomes an earlier look was of.
    assert (earlier.known_of("goal_1"), earlier.known_of("goal_2"), now.known_of("goal_1")) == (120, 500, 150)


def test_time_since_which_looks_count_outcomes_is_kept() -> None:
    since = STARTED + timedelta(days=9)
    first = a_look(9.0, known_outcomes=150, outcomes_since=since)
    assert outcomes_since([], since) is None
    assert outcomes_since([a_look(8.0)], since) == since
    assert outcomes_since([a_look(8.0), first], since + timedelta(days=1)) == since
    assert outcomes_since([a_look(8.0, known_outcomes=90)], since) is None
