"""Valid objects for tests: everything a test does not care about has a default."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from engine.design.exclusion.exclusion_group import ExclusionGroup
from engine.design.exclusion.group_slots import GroupSlots, SlotRange
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.design.targeting.evaluation import Targeting, compile_targeting
from engine.design.variants import Variant

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
STARTED = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
# What each status implies about the times that an experiment carries.
_TIMES: dict[str, dict[str, datetime]] = {
    "draft": {},
    "scheduled": {"scheduled_start_at": datetime(2026, 4, 1, tzinfo=UTC)},
    "running": {"started_at": STARTED},
    "paused": {"started_at": STARTED},
    "completed": {"started_at": STARTED, "completed_at": NOW},
    "archived": {"started_at": STARTED, "completed_at": NOW},
}


def a_variant(**overrides: Any) -> Variant:
    """Build a variant that is not the control."""
    return Variant(**{"id": "var_b", "name": "Treatment", **overrides})


def a_goal(**overrides: Any) -> Goal:
    """Build the primary goal: a purchase event."""
    defaults = {
        "id": "goal_1",
        "name": "Purchase",
        "goal_type": "custom_event",
        "is_primary": True,
        "config": {"event_name": "purchase"},
    }
    return Goal(**{**defaults, **overrides})


def variants_of(weights: Sequence[float]) -> tuple[Variant, ...]:
    """Build one variant a weight, `var_0` the control."""
    return tuple(
        Variant(
            id=f"var_{index}",
            name="Control" if index == 0 else f"Treatment {index}",
            weight=weight,
            is_control=index == 0,
        )
        for index, weight in enumerate(weights)
    )


def an_experiment(*, weights: Sequence[float] = (1, 1), **overrides: Any) -> Experiment:
    """Build an experiment that could start: two variants, one goal; times follow the status."""
    defaults: dict[str, Any] = {
        "id": "exp_1",
        "project_id": "prj_1",
        "name": "Checkout button",
        "test_key": "checkout-button",
        "salt": overrides.get("id", "exp_1"),
        "url": "https://shop.example/checkout",
        "created_at": STARTED,
        "updated_at": STARTED,
        "variants": variants_of(weights),
        "goals": (a_goal(),),
        **_TIMES[overrides.get("status", "draft")],
    }
    return Experiment(**{**defaults, **overrides})


def a_group(**overrides: Any) -> ExclusionGroup:
    """Build an exclusion group, whose salt is its id."""
    times = {"created_at": STARTED, "updated_at": STARTED}
    defaults = {"id": "grp_1", "project_id": "prj_1", "name": "Checkout", **times}
    return ExclusionGroup(**{**defaults, "salt": overrides.get("id", "grp_1"), **overrides})


def some_slots(first: int = 0, beyond: int = 3000, **overrides: Any) -> GroupSlots:
    """Build the slots of an experiment, taken at its start."""
    slots = (SlotRange(first=first, beyond=beyond),)
    defaults = {"salt": "grp_1", "bucketing_version": 1, "slots": slots, "taken_at": STARTED}
    return GroupSlots(**{**defaults, **overrides})


def a_project(**overrides: Any) -> Project:
    """Build a project in UTC and US dollars."""
    defaults = {
        "id": "prj_1",
        "account_id": "acc_1",
        "name": "Shop",
        "url": "https://shop.example",
        "sdk_key": "pk_shop",
        "created_at": STARTED,
        "updated_at": STARTED,
    }
    return Project(**{**defaults, **overrides})


def targeting_of(experiment: Experiment) -> Targeting:
    """Compile the targeting rules of an experiment."""
    return compile_targeting(experiment.targeting_rules)
