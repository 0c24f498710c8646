"""Goals that events are counted for: those of experiments, and the parts of their ratios and funnels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.goals import tracking_of

# Events that name a goal by its id are of an existing one, so never of these.
_UNNAMED = "denominator"
_STEP = "step"
_EVENT_KEYS = ("url", "match_type", "selector", "event_name")


class CountedGoal(NamedTuple):
    """A goal to count events for, by the positions of its `experiment` and of itself among the goals there.

    A denominator is a goal of its own, at the place of its ratio. `has_denominator` marks the ratio, whose
    own events are the numerator. Steps of a funnel are goals of their own, too, at its place: `step` numbers
    them from 0, up to `last_step`, which is the funnel's own event; both are None for other goals.
    """

    experiment: int
    place: int
    goal: Goal
    is_denominator: bool
    has_denominator: bool
    step: int | None = None
    last_step: int | None = None


def counted_goals(experiments: Sequence[Experiment]) -> list[CountedGoal]:
    """List the goals of the experiments in order, each followed by its denominator or the steps before it."""
    return [
        counted
        for number, experiment in enumerate(experiments)
        for place, goal in enumerate(experiment.goals)
        for counted in _counted(number, place, goal)
    ]


def denominator_of(goal: Goal) -> Goal | None:
    """Return the denominator of a ratio as a goal; None for other goals.

    It counts the conversions that name the goal by its id, too, where both select the same events.
    """
    if goal.divided_by is None:
        return None
    given = goal.tracking["denominator"]
    config = {key: value for key, value in given.items() if key != "goal_type"}
    goal_type = given["goal_type"]
    events = _events_of(tracking_of(goal_type, config))
    is_same = goal_type == goal.goal_type and events == _events_of(goal.tracking)
    window = {"window": goal.tracking["window"]} if "window" in goal.tracking else {}
    identity = goal.id if is_same else _UNNAMED
    return Goal(id=identity, name=goal.name, goal_type=goal_type, config={**config, **window})


def steps_before(goal: Goal) -> list[Goal]:
    """List the steps before the last one of a funnel as goals; none of other goals."""
    if "steps" not in goal.tracking:
        return []
    window = {"window": goal.tracking["window"]} if "window" in goal.tracking else {}
    return [
        Goal(
            id=_STEP,
            name=goal.name,
            goal_type=step["goal_type"],
            config={**{key: value for key, value in step.items() if key != "goal_type"}, **window},
        )
        for step in goal.tracking["steps"]
    ]


def step_names(goal: Goal) -> tuple[str, ...]:
    """Name the steps of a funnel by what each tracks, such as `cart`; the last is the goal's own event.

    Other goals have no steps.
    """
    steps = goal.tracking.get("steps", ())
    return tuple(_name(step) for step in (*steps, goal.tracking)) if steps else ()


def _counted(number: int, place: int, goal: Goal) -> Iterator[CountedGoal]:
    denominator, steps = denominator_of(goal), steps_before(goal)
    own = CountedGoal(number, place, goal, is_denominator=False, has_denominator=denominator is not None)
    yield own._replace(step=len(steps), last_step=len(steps)) if steps else own
    for step, before in enumerate(steps):
        yield own._replace(goal=before, step=step, last_step=len(steps))
    if denominator is not None:
        yield CountedGoal(number, place, denominator, is_denominator=True, has_denominator=False)


def _events_of(tracking: Mapping[str, object]) -> dict[str, object]:
    """Return the keys that select the events of a goal."""
    return {key: tracking[key] for key in _EVENT_KEYS if key in tracking}


def _name(config: Mapping[str, Any]) -> str:
    """Return the event, selector or page of a step."""
    return str(next(config[key] for key in ("event_name", "selector", "url") if key in config))
