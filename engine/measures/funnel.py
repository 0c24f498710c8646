"""Funnel: the share of visitors with the events of all steps, in order."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.errors import Problem
from engine.measures.event_selection import page_problems, part_problems, selected_events, without_nulls
from engine.measures.measure import Config, Measure
from engine.validation.check import unchecked
from engine.validation.values import at
from engine.vocabulary import GoalType

# Steps before the last one, which is the goal itself.
MOST_STEPS: Final = 9


def _fill_in(goal_type: GoalType, config: Config) -> Config:
    """Give the steps the goal's type; one that is no object stays as it is, to be refused."""
    if not isinstance(config.get("steps"), list | tuple):
        return config
    steps = [
        {"goal_type": goal_type, **without_nulls(step)} if isinstance(step, Mapping) else step
        for step in config["steps"]
    ]
    return {**config, "steps": steps}


def _find_problems(goal_type: GoalType, config: Config) -> Iterator[Problem]:
    steps = config.get("steps", ())
    if "steps" in config and not (isinstance(steps, list | tuple) and 0 < len(steps) <= MOST_STEPS):
        yield Problem(
            "steps", f"must be a list of 1 to {MOST_STEPS} objects, the steps before the goal's event"
        )
        return
    problems = [
        problem
        for place, step in enumerate(steps)
        for problem in at(f"steps[{place}]", _step_problems(goal_type, step))
    ]
    yield from problems or _repeated_steps(goal_type, config, steps)


def _step_problems(goal_type: GoalType, step: object) -> Iterable[Problem]:
    problems = part_problems(
        goal_type, step, what="a step", is_no="can't be a step", more={}, without=("value_param",)
    )
    if problems or not isinstance(step, Mapping):
        return problems
    return page_problems(without_nulls(step))


def _repeated_steps(
    goal_type: GoalType, config: Config, steps: Iterable[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Yield the steps that select the events of another, as one event would be both."""
    seen = [selected_events(goal_type, config)]
    for place, step in enumerate(steps):
        selected = selected_events(goal_type, without_nulls(step))
        if selected in seen:
            message = "selects the events of another step, so that one event would be both; leave it out"
            yield Problem(f"steps[{place}]", message)
        seen.append(selected)


FUNNEL: Final = Measure(
    word="funnel",
    description=(
        "the share of visitors with the events of `steps`, each `{goal_type?, …}` likewise, and then one of "
        "the goal, in this order"
    ),
    label="Rate",
    unit="share",
    predicate="completed all steps",
    # Steps are checked by their own goal types.
    keys={"steps": unchecked(type="array")},
    keys_are="are of funnels only: leave them out, or measure the goal by 'funnel'",
    fill_in=_fill_in,
    find_problems=_find_problems,
    needed_of_events=(
        "steps",
        "is required: the steps before the goal's event, such as [{'event_name': 'cart'}]",
    ),
    columns=("steps",),
    has_days=True,
)
