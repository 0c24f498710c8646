"""The form of a draft: from an experiment, from what was sent, and to the body of the API."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from api.dashboard.drafts.field_paths import flattened, pattern_of, put
from api.dashboard.drafts.form_fields import (
    BY_ATTRIBUTE,
    CHECKED,
    CONDITION,
    CONFIG_KEYS,
    FIELDS,
    GROUP_ID,
    GROUP_PERCENT,
    NEW_ROWS,
    UNIT_KEY,
)
from api.dashboard.drafts.form_rows import MOST_ROWS, row_counts
from api.dashboard.drafts.payload_text import payload_text
from api.dashboard.drafts.ramp_fields import DEFAULT_ACTION, ON_HARM, STEPS, put_ramp
from api.dashboard.drafts.step_lines import lines_of_steps, steps_of_lines
from engine.design.analysis_settings import Statistics
from engine.design.experiment import StopConditions
from engine.design.metrics.metric_goals import OWN_KEYS
from engine.design.targeting.rules import VERSION
from engine.design.units import VISITOR

Form = dict[str, str]
# Python has 1 and true as equal, which payloads tell apart.
_encode: Final = msgspec.json.Encoder(order="sorted").encode
RULES: Final = "targeting_rules"
# Lists with the mark of one of their items, which radio buttons of these names choose.
MARKS: Final = {"variants": ("control", "is_control"), "goals": ("primary", "is_primary")}
# Sent even where they are empty, so that the API says that they are required.
_REQUIRED: Final = frozenset(
    {"name", "variants[].name", "variants[].weight", "goals[].name", f"{STEPS}[].percent"}
)
# Stay as they are where they are empty: they have no default of their own, or are no field to fill in.
_KEPT: Final = frozenset(
    {"url", "test_key", "variants[].id", "variants[].changes[].id", "goals[].id", "goals[].metric_id"}
)


def new_form() -> Form:
    """Return the form of a new experiment: two variants and a goal, with the defaults of the API."""
    settings = {"statistics": asdict(Statistics()), "stop_conditions": asdict(StopConditions())}
    return complete(
        {path: _shown(value) for path, value in flattened(settings).items()}
        | {"name": "", "type": "visual", "url_match_type": "exact", "traffic_allocation": "100"}
        | {"traffic_strategy": "fixed", "unit": VISITOR, "trigger": "direct", "confidence_level": "95"}
        | {"analysis_method": "frequentist", "targeting_rules.root.operator": "and"}
        | {"variants[0].name": "Control", "variants[0].weight": "1", "variants[0].is_control": CHECKED}
        | {"variants[1].name": "Variant B", "variants[1].weight": "1"}
        | {"goals[0].name": "", "goals[0].goal_type": "custom_event", "goals[0].is_primary": CHECKED}
        | {"plan.power": "80", ON_HARM: DEFAULT_ACTION}
    )


def form_of(experiment: Mapping[str, Any]) -> Form:
    """Return the form of an experiment as the API answers it."""
    form = {"plan.power": "80", ON_HARM: DEFAULT_ACTION}
    for path, value in flattened({**experiment, RULES: None}).items():
        pattern = pattern_of(path)
        if pattern in FIELDS and pattern != RULES:
            form[path] = (
                utc_field(str(value)) if value and pattern.startswith("scheduled_") else _shown(value)
            )
    for index, variant in enumerate(experiment["variants"]):
        form[f"variants[{index}].payload"] = payload_text(variant["payload"])
    if UNIT_KEY in form:
        form["unit"] = BY_ATTRIBUTE
    for index, goal in enumerate(experiment["goals"]):
        if steps := goal["config"].get("steps"):
            form[f"goals[{index}].config.steps"] = lines_of_steps(steps, goal["goal_type"])
    return complete(form | _rules_form(experiment[RULES]))


def form_sent(fields: Mapping[str, str]) -> Form:
    """Return the form that a browser sent; unknown fields are left out. RowsError."""
    form = {path: value.replace("\r\n", "\n") for path, value in fields.items() if pattern_of(path) in FIELDS}
    counts = row_counts(form)
    for rows, (radio, mark) in MARKS.items():
        marked = f"{rows}[{fields.get(radio, '')}].{mark}"
        if marked in _paths(counts, f"{rows}[].{mark}"):
            form[marked] = CHECKED
    return complete(form)


def complete(form: Mapping[str, str]) -> Form:
    """Add the fields that were not sent, such as those of unchecked boxes, as empty ones."""
    whole: Form = {}
    counts = row_counts(form)
    for pattern in FIELDS:
        # Rules as JSON have no rows.
        if pattern != RULES and not (RULES in form and pattern.startswith(RULES)):
            whole |= dict.fromkeys(_paths(counts, pattern), "")
    return {**whole, **form}


def body_of(form: Mapping[str, str], *, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the body that creates a draft, or that revises the experiment `before`.

    An empty field is left out of a new draft, and null in a revision, which stands for the default.
    """
    body: dict[str, Any] = {} if before is None else {rows: [] for rows in ("variants", "goals", "url_rules")}
    for path, value in form.items():
        pattern = pattern_of(path)
        if pattern.startswith(("plan.", "unit", "group.", RULES)):
            continue
        if value or pattern in _REQUIRED:
            put(body, path, FIELDS[pattern](value))
        elif FIELDS[pattern]("") is False:
            put(body, path, False)
        elif before is not None and pattern not in _KEPT and not pattern.startswith("goals[].config."):
            put(body, path, None)
    put_ramp(body, is_new=before is None)
    body[RULES] = _rules(form)
    if unit := form["unit"]:
        body["unit"] = {BY_ATTRIBUTE: form[UNIT_KEY]} if unit == BY_ATTRIBUTE else unit
    if group_id := form[GROUP_ID]:
        body["group"] = {"id": group_id, "percent": FIELDS[GROUP_PERCENT](form[GROUP_PERCENT])}
    elif before is not None:
        body["group"] = None
    for variant in body.get("variants", ()):
        # A list that is absent would stay as it was.
        variant.setdefault("changes", [])
    stored = {goal["id"]: goal for goal in (before or {}).get("goals", ())}
    body["goals"] = [_goal(goal, stored.get(goal.get("id"))) for goal in body.get("goals", ())]
    return body


def changes_of(form: Mapping[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the body that differ from those of the experiment `before`."""
    unchanged = body_of(form_of(before), before=before)
    return {
        name: value
        for name, value in body_of(form, before=before).items()
        if _encode(value) != _encode(unchanged.get(name))
    }


def with_row(form: Mapping[str, str], rows: str) -> Form:
    """Add a row to a list of the form, such as `goals`, unless it has as many as the API takes."""
    pattern, counts = pattern_of(rows), row_counts(form)
    index = counts.get(rows, 0)
    if rows not in _paths(counts, pattern) or index >= MOST_ROWS.get(pattern, 0):
        return dict(form)
    new = NEW_ROWS[pattern]
    mark = MARKS.get(rows)
    marked = {f"{rows}[0].{mark[1]}": CHECKED} if mark and index == 0 else {}
    return complete({**form, **{f"{rows}[{index}].{name}": value for name, value in new.items()}, **marked})


def _goal(goal: dict[str, Any], stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keep the settings of a stored goal that the form has no field for."""
    config = goal.get("config", {})
    if "steps" in config:
        config["steps"] = steps_of_lines(config["steps"], goal.get("goal_type", ""))
    if goal.get("metric_id"):
        own = {name: value for name, value in config.items() if name in OWN_KEYS}
        return {name: value for name, value in goal.items() if name != "goal_type"} | {"config": own}
    if stored is not None and stored["metric_id"]:
        return {**goal, "metric_id": None, "config": config}
    if stored is not None and stored["goal_type"] == goal.get("goal_type"):
        others = {name: value for name, value in stored["config"].items() if name not in CONFIG_KEYS}
        return {**goal, "config": {**others, **config}}
    return {**goal, "config": config}


def _rules(form: Mapping[str, str]) -> object:
    if RULES in form:
        return FIELDS[RULES](form[RULES])
    children = []
    for index in range(row_counts(form).get(CONDITION, 0)):
        row = {name: form[f"{CONDITION}[{index}].{name}"] for name in ("field", "operator", "key")}
        values = FIELDS[f"{CONDITION}[].values"](form[f"{CONDITION}[{index}].values"])
        key = {"key": row["key"]} if row["key"] else {}
        children.append({"field": row["field"], "operator": row["operator"], "values": values, **key})
    # Without a condition every visitor is eligible.
    operator = form["targeting_rules.root.operator"] if children else "and"
    return {"version": VERSION, "root": {"operator": operator, "children": children}}


def _rules_form(rules: Mapping[str, Any]) -> Form:
    """Return the conditions as rows, and rules with groups inside as JSON."""
    root = rules["root"]
    children = root["children"]
    if root["operator"] == "not" or any("children" in child for child in children):
        return {RULES: json.dumps(rules, indent=2, ensure_ascii=False)}
    form = {"targeting_rules.root.operator": root["operator"]}
    for index, child in enumerate(children):
        row = {"field": child["field"], "operator": child["operator"], "key": child.get("key") or ""}
        row["values"] = "\n".join(map(str, child.get("values") or ()))
        form |= {f"{CONDITION}[{index}].{name}": value for name, value in row.items()}
    return form


def _paths(counts: Mapping[str, int], pattern: str) -> list[str]:
    """List the paths of a pattern, one for each row that a form has."""
    paths = [""]
    *lists, last = pattern.split("[]")
    for name in lists:
        starts = [path + name for path in paths]
        paths = [f"{rows}[{index}]" for rows in starts for index in range(counts.get(rows, 0))]
    return [path + last for path in paths]


def _shown(value: object) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return CHECKED
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def utc_field(value: str) -> str:
    """Return a time as a field of the browser takes it."""
    return datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None).isoformat(timespec="minutes")
