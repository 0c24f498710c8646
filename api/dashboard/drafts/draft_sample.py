"""Sample size of a draft, by the calculator of the API."""

from collections.abc import Mapping
from typing import Any, Final

from api.dashboard.drafts.form_fields import FIELDS
from api.dashboard.drafts.form_rows import row_counts

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
    """Return the body of the calculator; an effect of the primary goal stands before that of all goals."""
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
    return {**asked, "variants": counts.get("variants", 0)}
