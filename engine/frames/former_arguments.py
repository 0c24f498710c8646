"""Former arguments of analyses, which are options of goals now: refused with the new form."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Revenue, goals_of

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

# Former argument → option of the goal, with a value of it.
_OPTIONS: Final[Mapping[str, tuple[str, object]]] = {
    "covariates": ("covariates", "spent_before"),
    "orders": ("orders", "orders"),
    "caps": ("cap_percentile", 99),
    "guardrails": ("guardrail", 2),
    "less_is_better": ("less_is_better", True),
    "currency": ("currency", "EUR"),
}


def refuse_former_arguments(
    function: Callable[_Parameters, _Result],
) -> Callable[_Parameters, _Result]:
    """Raise TypeError, with the new form, for an argument by goal that is an option of the goal now."""

    @wraps(function)
    def refusing(*args: _Parameters.args, **given: _Parameters.kwargs) -> _Result:
        # A currency of all goals is an argument still.
        former = [
            name
            for name in _OPTIONS
            if name in given and (name != "currency" or isinstance(given[name], Mapping))
        ]
        if former:
            raise TypeError(_new_form({name: given[name] for name in former}, given.get("goals", ())))
        return function(*args, **given)

    return refusing


def _new_form(former: Mapping[str, Any], goals: Any) -> str:  # noqa: ANN401  # what a caller gave
    """Write the arguments as options, such as `goals={'spent': Revenue(covariates='before')}`."""
    options: dict[str, dict[str, object]] = {}
    for argument, value in former.items():
        option, example = _OPTIONS[argument]
        names = [value] if isinstance(value, str) else value
        by_goal = value if isinstance(value, Mapping) else dict.fromkeys(names or (), True)
        for goal, one in (by_goal or {"spent": example}).items():
            options.setdefault(goal, {})[option] = one
    try:
        known = goals_of(goals)
    except InvalidEvidenceError:
        known = {}
    written = (f"{goal!r}: {_written(known.get(goal, Revenue()), set_)}" for goal, set_ in options.items())
    old = " and ".join(f"{argument}={value!r}" for argument, value in former.items())
    verb = "is now an option" if len(former) == 1 else "are now options"
    return f"{old} {verb} of the goal: goals={{{', '.join(written)}}}"


def _written(goal: FrameGoal, options: Mapping[str, object]) -> str:
    parts = [
        *map(repr, goal.parts),
        *(f"{name}={value!r}" for name, value in {**goal.options, **options}.items()),
    ]
    return f"{type(goal).__name__}({', '.join(parts)})"
