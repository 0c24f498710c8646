"""Steps of a draft: the parts of its form, what is wrong in each, and the statistics in a sentence."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from api.dashboard.drafts.draft_plan import has_baseline
from api.dashboard.drafts.form_fields import CHECKED
from api.dashboard.drafts.form_rows import row_counts

State = Literal["open", "done", "problem"]
# By anchor: the name in the list of steps, and the beginnings of the paths of its fields.
_STEPS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "change": ("Change", ("name", "hypothesis", "type", "test_key", "variants", "public_variants")),
    "visitors": ("Visitors", ("url", "traffic_", "ramp", "group", "unit", "targeting_rules", "trigger")),
    "goals": ("Goals", ("goals",)),
    "size": (
        "Size, days",
        (
            *("plan.", "statistics.minimum_effect_percent", "statistics.planned_sample"),
            *("scheduled_", "stop_conditions"),
        ),
    ),
    "judging": ("Statistics", ("analysis_method", "confidence_level", "statistics")),
}
# In the order of the page, which asks for statistics before the size that follows from them.
_ORDER: Final = ("change", "visitors", "goals", "judging", "size")
_SEQUENTIAL: Final[Mapping[str, str]] = {
    "none": "look whenever you like: decided when the plan is reached, or before if it holds at every look",
    "always_valid": "every look is valid",
    "group_sequential": "every look up to the planned sample is valid, and it ends there",
}
_TWO: Final = 2


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its anchor, its name, and whether it is filled in or has a problem."""

    anchor: str
    label: str
    state: State


def steps_of(form: Mapping[str, str], problems: Collection[str]) -> list[Step]:
    """List the steps of a form; those that have a problem say so."""
    found = {_step_of(path) for path in problems}
    return [
        Step(
            anchor,
            _STEPS[anchor][0],
            "problem" if anchor in found else "done" if _is_done(form, anchor) else "open",
        )
        for anchor in _ORDER
    ]


def any_problem(problems: Iterable[str], *beginnings: str) -> bool:
    """Tell whether a path with one of the beginnings has a problem, which no fold hides."""
    return any(path.startswith(beginnings) for path in problems)


def statistics_sentence(form: Mapping[str, str]) -> str:
    """Say how the form's experiment is judged: the defaults, or what was chosen instead."""
    is_bayesian = form["analysis_method"] == "bayesian"
    parts = [
        f"{form['confidence_level'] or 95}% {'chance to be better' if is_bayesian else 'confidence'}",
        _SEQUENTIAL.get(form["statistics.sequential"], ""),
    ]
    if (variants := row_counts(form).get("variants", 0)) > _TWO:
        parts.append(f"corrected for {variants - 1} comparisons")
    if form["statistics.alternative"] == "one_sided":
        parts.append("one-sided")
    if form["statistics.cuped"] == CHECKED:
        parts.append("adjusted by what visitors did before (CUPED)")
    if form["statistics.guardrails"] == "non_inferior":
        parts.append("guardrails must be shown to be safe")
    return "; ".join(part for part in parts if part)


def _step_of(path: str) -> str | None:
    return next((anchor for anchor, (_, starts) in _STEPS.items() if path.startswith(starts)), None)


def _is_done(form: Mapping[str, str], anchor: str) -> bool:
    """Tell whether a step has what it needs; targeting and statistics have defaults."""
    if anchor == "size":
        return has_baseline(form) or bool(form["statistics.planned_sample"])
    if anchor == "change":
        return bool(form["name"]) and _are_named(form, "variants")
    return anchor != "goals" or _are_named(form, "goals")


def _are_named(form: Mapping[str, str], rows: str) -> bool:
    names = [form[f"{rows}[{index}].name"] for index in range(row_counts(form).get(rows, 0))]
    return bool(names) and all(names)
