"""Results of a holdout, as its own page and that of the programme show them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from api.dashboard.addresses import project_address
from api.dashboard.form_permissions import READ_EXPERIMENTS, may
from api.dashboard.operations import read
from api.dashboard.sessions import SignedIn

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGoal:
    """A goal of a holdout: the control, which is held out, and all others."""

    name: str
    is_primary: bool
    held: Answer
    others: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutResults:
    """A holdout with its goals, the primary one first, the checks of its data, and the days counted."""

    holdout: Answer
    goals: tuple[HeldGoal, ...]
    checks: tuple[Answer, ...]
    days: int

    @property
    def problems(self) -> tuple[str, ...]:
        """Messages of the checks that are not well."""
        return tuple(one["message"] for one in self.checks if one["status"] in {"warning", "alarm"})


async def read_newest_holdout(request: Request, session: SignedIn) -> HoldoutResults | None:
    """Read the newest holdout of the whole project that has begun.

    None without one, and where the key may not read any.
    """
    if not await may(request, session, READ_EXPERIMENTS):
        return None
    listed = (await read(request, session, f"{project_address(request)}/holdouts", {"per_page": 100}))["data"]
    begun = (one for one in listed if one["status"] != "scheduled" and one["group_id"] is None)
    holdout = next(begun, None)
    return None if holdout is None else await read_holdout_results(request, session, holdout)


async def read_holdout_results(request: Request, session: SignedIn, holdout: Answer) -> HoldoutResults:
    """Read the results of a holdout that has begun."""
    address = f"{project_address(request)}/holdouts/{holdout['id']}/results"
    results = (await read(request, session, address))["data"]
    goals = (_goal(one, results["variants"][one["id"]]) for one in holdout["goals"])
    return HoldoutResults(
        holdout=holdout,
        goals=tuple(sorted(goals, key=lambda one: not one.is_primary)),
        checks=tuple(results["health"]),
        days=len(results["time_series"]),
    )


def _goal(goal: Answer, variants: list[Answer]) -> HeldGoal:
    (held,) = (one for one in variants if one["is_control"])
    (others,) = (one for one in variants if not one["is_control"])
    return HeldGoal(name=goal["name"], is_primary=goal["is_primary"], held=held, others=others)
