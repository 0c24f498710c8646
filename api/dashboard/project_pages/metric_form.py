"""The form of a metric: what a goal counts, without what a goal says of its own experiment."""

from collections.abc import Mapping
from typing import Any, Final

from api.dashboard.drafts.form_fields import CONFIG_KEYS, FIELDS
from api.dashboard.drafts.step_lines import lines_of_steps, steps_of_lines
from api.dashboard.project_pages.record_form import TEXT, RecordForm
from engine.design.metrics.metric_goals import OWN_KEYS

_CONFIG: Final = "goals[].config."
FORM: Final = RecordForm(
    {
        **dict.fromkeys(("name", "description", "goal_type"), TEXT),
        **{
            f"config.{path.removeprefix(_CONFIG)}": read
            for path, read in FIELDS.items()
            if path.startswith(_CONFIG) and path.removeprefix(_CONFIG) not in OWN_KEYS
        },
    },
    required=frozenset({"name", "goal_type"}),
    wholes=frozenset({"config"}),
)
_EFFECT: Final = (
    "What the metric counts: this is a new version. Drafts and scheduled experiments follow it; those that "
    "have started keep the version that they began with."
)
EFFECTS: Final[Mapping[str, str]] = {"config": _EFFECT, "goal_type": _EFFECT}


def shown_metric(metric: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a metric with the steps of a funnel as lines."""
    config = metric["config"]
    if "steps" in config:
        config = {**config, "steps": lines_of_steps(config["steps"], metric["goal_type"])}
    return {**metric, "config": config}


def metric_body(body: dict[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a body: steps of a funnel, and keys of the config before that the form has no field for."""
    goal_type = body.get("goal_type", before.get("goal_type", ""))
    config = body.get("config")
    if config is None:
        return body
    if "steps" in config:
        config["steps"] = steps_of_lines(config["steps"], goal_type)
    others: dict[str, Any] = {}
    if goal_type == before.get("goal_type"):
        others = {key: value for key, value in before["config"].items() if key not in CONFIG_KEYS}
    return {**body, "config": {**others, **config}}
