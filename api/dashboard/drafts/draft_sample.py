"""Question of a draft to the sample size calculator."""

from collections.abc import Mapping
from typing import Any, Final

from api.dashboard.drafts.form_fields import FIELDS, GROUP_ID, GROUP_PERCENT
from api.dashboard.drafts.form_rows import row_counts
from api.dashboard.drafts.ramp_fields import STEPS

# Fields of the question by those of the form; the problems of the answer stand beside them.
PLAN_FIELDS: Final[Mapping[str, str]] = {
    "baseline_rate": "plan.baseline_rate",
    "baseline_mean": "plan.baseline_mean",
    "standard_deviation": "plan.standard_deviation",
    "daily_visitors": "plan.daily_visitors",
    "power": "plan.power",
    "effect": "statistics.minimum_effect_percent",
    "confidence_level": "confidence_level",
    "alternative": "statistics.alternative",
    "method": "statistics.sequential",
    "variants": "variants",
}


def question_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the question of the calculator; an effect of the primary goal stands before that of all goals.

    Visitors a day are those who take part.
    """
    asked = {
        name: FIELDS[path](form[path])
        for name, path in PLAN_FIELDS.items()
        if path != "variants" and form.get(path)
    }
    counts = row_counts(form)
    goals = (f"goals[{index}]" for index in range(counts.get("goals", 0)))
    primary = next((row for row in goals if form[f"{row}.is_primary"]), None)
    own = form[f"{primary}.config.minimum_effect_percent"] if primary else ""
    if own:
        asked["effect"] = FIELDS["statistics.minimum_effect_percent"](own)
    if (
        primary
        and form[f"{primary}.config.direction"] == "decrease"
        and isinstance(asked.get("effect"), int | float)
    ):
        asked["effect"] = -asked["effect"]
    asked["method"] = "fixed" if asked.get("method", "none") == "none" else asked["method"]
    window = FIELDS["goals[].config.window"](form[f"{primary}.config.window"]) if primary else None
    if isinstance(window, int):
        asked["window"] = window
    steps = counts.get(STEPS, 0)
    # The first days of a ramp, which are slower, come on top.
    share = f"{STEPS}[{steps - 1}].percent" if steps else "traffic_allocation"
    for path in (share, *([GROUP_PERCENT] if form[GROUP_ID] else [])):
        taking_part = FIELDS["traffic_allocation"](form[path])
        if isinstance(asked.get("daily_visitors"), int | float) and isinstance(taking_part, int | float):
            asked["daily_visitors"] *= min(max(taking_part, 0), 100) / 100
    return {**asked, "variants": counts.get("variants", 0)}
