"""Steps of a funnel as lines of a field: what a step tracks, or all of it as JSON where it tracks more."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

# By goal type: what a line without more is.
_TRACKED: Final[Mapping[str, str]] = {
    "pageview": "url",
    "click": "selector",
    "custom_event": "event_name",
    "ga4_event": "event_name",
}


def lines_of_steps(steps: Sequence[Mapping[str, Any]], goal_type: str) -> str:
    """Write the steps of a goal, one a line."""
    key = _TRACKED.get(goal_type, "event_name")
    return "\n".join(
        str(step[key]) if key in step and len(step) == 1 else json.dumps(dict(step), ensure_ascii=False)
        for step in steps
    )


def steps_of_lines(lines: Sequence[str], goal_type: str) -> list[Any]:
    """Read the steps that were typed; what is no JSON object stays as it is, for the API to judge."""
    key = _TRACKED.get(goal_type, "event_name")
    return [_step(line, key) for line in lines]


def _step(line: str, key: str) -> object:
    if line.startswith("{"):
        try:
            return json.loads(line)
        except ValueError:
            return line
    return {key: line}
