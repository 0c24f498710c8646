"""Guardrails of an analysis of rows: goals that may lose no more than a margin."""

from collections.abc import Mapping
from dataclasses import replace

from engine.design.experiment import Experiment
from engine.errors import InvalidEvidenceError

# As the API takes them.
_LARGEST_MARGIN = 99


def with_guardrails(experiment: Experiment, margins: Mapping[str, float]) -> Experiment:
    """Return the experiment with goals of those names as guardrails; margins are percents of the control.

    Raises InvalidEvidenceError for an unknown goal, the primary goal, and a margin outside 0 to 99.
    """
    names = [goal.name for goal in experiment.goals]
    if unknown := sorted(set(margins) - set(names)):
        raise InvalidEvidenceError(f"guardrails name no goals: {', '.join(map(repr, unknown))}")
    if names and names[0] in margins:
        raise InvalidEvidenceError(
            f"{names[0]!r} is the primary goal, which is to win: it can be no guardrail; put another first"
        )
    for name, margin in margins.items():
        if not 0 <= margin <= _LARGEST_MARGIN:
            limits = f"from 0 to {_LARGEST_MARGIN} percent"
            raise InvalidEvidenceError(f"the margin of guardrail {name!r} must be {limits}, not {margin:g}")
    goals = (
        replace(goal, config={**goal.config, "guardrail_margin_percent": margins[goal.name]})
        if goal.name in margins
        else goal
        for goal in experiment.goals
    )
    return replace(experiment, goals=tuple(goals))
