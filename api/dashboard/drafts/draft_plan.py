"""Plan of a draft: visitors and days, and the changes that some weeks find, by the engine's calculator."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from api.dashboard.drafts.draft_sample import PLAN_FIELDS, question_of
from api.dashboard.drafts.field_problems import problems_by_field
from engine.design.planning.calculator import SampleAnswer, SampleQuestion, answer, read_question
from engine.errors import InvalidDesignError

_WEEK: Final = 7
_WEEKS: Final = (1, 2, 4, 8)
# Visitors of a variant that the calculator takes.
_LEAST: Final = 2
_MOST: Final = 10**12
_BASELINES: Final = ("plan.baseline_rate", "plan.baseline_mean")


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest change, in percent, that so many days find; of the plan itself or of some weeks."""

    days: int
    effect: float
    is_plan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftPlan:
    """The answer of the calculator with its question, and the changes that other durations find."""

    question: SampleQuestion
    answer: SampleAnswer
    durations: tuple[Detectable, ...]


def typed_plan(form: Mapping[str, str]) -> tuple[DraftPlan | None, list[str]]:
    """Plan a form once the number that it starts from was typed; without a plan return what is wrong."""
    if not has_baseline(form):
        return None, []
    plan, problems = plan_of(form)
    return plan, [message for messages in problems.values() for message in messages]


def has_baseline(form: Mapping[str, str]) -> bool:
    """Tell whether the primary goal's rate or mean was typed, without which there is no plan."""
    return any(form.get(path) for path in _BASELINES)


def plan_of(form: Mapping[str, str]) -> tuple[DraftPlan | None, dict[str, list[str]]]:
    """Plan a draft as it was typed; without a plan also return the problems by field."""
    try:
        question = read_question(question_of(form))
    except InvalidDesignError as error:
        details = (
            {"field": PLAN_FIELDS.get(one.field, one.field), "message": one.message} for one in error.problems
        )
        return None, problems_by_field(details, form)
    found = answer(question)
    return DraftPlan(question=question, answer=found, durations=tuple(_durations(question, found))), {}


def _durations(question: SampleQuestion, planned: SampleAnswer) -> Iterator[Detectable]:
    """Yield the smallest change of each duration that finds one, in order."""
    if not question.daily_visitors:
        return
    by_days = {_WEEK * weeks: _detectable(question, _WEEK * weeks) for weeks in _WEEKS}
    days = planned.days_in_whole_weeks
    if days is not None:
        by_days[days] = abs(question.effect or 0.0)
    for each, effect in sorted(by_days.items()):
        if effect is not None:
            yield Detectable(each, effect, is_plan=each == days)


def _detectable(question: SampleQuestion, days: int) -> float | None:
    """Compute the smallest change that so many days find; visitors whose outcome comes later do not count."""
    entered = (question.daily_visitors or 0.0) * max(0, days - (question.window or 0))
    each = int(entered / question.variants)
    if not _LEAST <= each <= _MOST:
        return None
    return answer(replace(question, effect=None, visitors_per_variant=each)).detectable_effect
