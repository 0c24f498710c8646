"""Recorded looks: the results of an experiment as they were when they were judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

PlanSource = Literal["given", "blinded", "last_day", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPlan:
    """The plan that held at a look: visitors, all variants together, and how it was computed.

    `required_visitors` is None where no number of visitors is enough. `tuned_to` are the visitors that the
    confidence sequence was tuned to. `mean` and `variance` are those of the primary goal's metric over all
    visitors; effects, margins and `alpha` (of one comparison, two-sided) are shares. `equivalence_margins`
    are by goal id.
    """

    source: PlanSource
    required_visitors: int | None
    tuned_to: float | None
    mean: float | None
    variance: float | None
    minimum_effect: float
    detectable_effect: float | None
    equivalence_margins: Mapping[str, float]
    alpha: float
    variants: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedComparison:
    """One variant on one goal at a look, with what was established by then and is kept.

    `n`, `mean`, `m2` and `m3` are the moments of the goal's metric per visitor. `z` has the sign of the
    wanted direction and `critical` is its limit at every look; `log_p` and the lift's interval are those of
    a single look. None where there was no number. Looks before version 0.2.0 have no `crosses`, which every
    win does.
    """

    n: int
    mean: float
    m2: float
    m3: float
    z: float | None = None
    critical: float | None = None
    log_p: float | None = None
    lift_low: float | None = None
    lift_high: float | None = None
    crosses: bool = False
    wins: bool = False
    loses: bool = False
    is_equivalent: bool = False
    is_broken: bool = False
    is_non_inferior: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLook:
    """A look at an experiment; comparisons by goal id and variant id, the control's without a test.

    `is_at_plan` marks the one look at the plan, which is judged by ordinary tests. `visitors` are of all
    variants together, `running_days` None where they are not known; `earlier_visitors` are what the looks
    before counted, which group-sequential spending needs. What was established is kept from look to look, so
    that the last look and the one at the plan tell all. `known_outcomes` are the visitors whose outcome of
    the primary goal was known, and `outcomes_since` is the time from which looks count those; None at looks
    that counted visitors, and where looks always counted outcomes.
    """

    taken_at: datetime
    is_at_plan: bool
    running_days: float | None
    visitors: int
    plan: RecordedPlan
    comparisons: Mapping[str, Mapping[str, RecordedComparison]]
    recommendation: str
    reason: str | None = None
    variant_id: str | None = None
    earlier_visitors: tuple[int, ...] = ()
    known_outcomes: int | None = None
    outcomes_since: datetime | None = None

    @property
    def counted(self) -> int:
        """What the look counted: known outcomes, or visitors in earlier versions."""
        return self.visitors if self.known_outcomes is None else self.known_outcomes

    def known_of(self, goal_id: str | None) -> int:
        """Count the visitors with a known outcome of a goal, also at a look that counted visitors."""
        compared = self.comparisons.get(goal_id or "", {})
        if self.known_outcomes is None and compared:
            return sum(one.n for one in compared.values())
        return self.counted


def counted_at_looks(looks: Sequence[RecordedLook]) -> tuple[int, ...]:
    """List what every look taken so far counted, by the last of `looks`, which are in order."""
    return (*looks[-1].earlier_visitors, looks[-1].counted) if looks else ()


def outcomes_since(looks: Sequence[RecordedLook], now: datetime | None) -> datetime | None:
    """Return the time from which looks count known outcomes; None where they always did."""
    if not looks:
        return None
    return now if looks[-1].known_outcomes is None else looks[-1].outcomes_since


def plan_look(looks: tuple[RecordedLook, ...]) -> RecordedLook | None:
    """Return the look at the plan; None before it."""
    return next((look for look in looks if look.is_at_plan), None)


def with_ids(
    looks: Sequence[RecordedLook], *, goals: Mapping[str, str], variants: Mapping[str, str]
) -> tuple[RecordedLook, ...]:
    """Replace the ids of goals and variants in looks; comparisons of others are left out."""
    return tuple(_with_ids(look, goals, variants) for look in looks)


def is_to_be_added(look: RecordedLook, looks: Sequence[RecordedLook]) -> bool:
    """Tell whether a look adds to those recorded: the first at the plan, or of its running day, or with news.

    Two processes may find the same look due at once; the second of them adds nothing. Neither does a look
    that was taken without what another one had established just before.
    """
    kept = set[tuple[str, str, str]]().union(*(_established(one) for one in looks if not one.is_at_plan))
    if not kept <= _established(look):
        return False
    if look.is_at_plan:
        return plan_look(tuple(looks)) is None
    if is_first_of_day(look.running_days, looks):
        return True
    known = set().union(*(_established(one) for one in looks))
    return not _established(look) <= known


def is_first_of_day(running_days: float | None, looks: Sequence[RecordedLook]) -> bool:
    """Tell whether none of the looks was taken on that running day or later; days count from 1 on."""
    last_day = max((int(look.running_days or 0.0) for look in looks), default=0)
    return int(running_days or 0.0) > last_day


def _with_ids(look: RecordedLook, goals: Mapping[str, str], variants: Mapping[str, str]) -> RecordedLook:
    margins = look.plan.equivalence_margins
    return replace(
        look,
        plan=replace(
            look.plan,
            equivalence_margins={goals[goal]: margin for goal, margin in margins.items() if goal in goals},
        ),
        comparisons={
            goals[goal]: {variants[one]: found for one, found in by_variant.items() if one in variants}
            for goal, by_variant in look.comparisons.items()
            if goal in goals
        },
        variant_id=variants.get(look.variant_id or ""),
    )


def _established(look: RecordedLook) -> set[tuple[str, str, str]]:
    """List what a look established, by goal, variant and kind of finding."""
    return {
        (goal, variant, kind)
        for goal, by_variant in look.comparisons.items()
        for variant, comparison in by_variant.items()
        for kind in ("crosses", "wins", "loses", "is_equivalent", "is_broken", "is_non_inferior")
        if getattr(comparison, kind)
    }
