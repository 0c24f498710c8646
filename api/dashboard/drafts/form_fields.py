"""Fields of the form of a draft: how each is read, and the choices that it offers."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from api.bodies.json_body import MalformedJsonError, TooManyValuesError, read_json
from api.dashboard.drafts.payload_text import PAYLOAD, read_payload
from api.dashboard.drafts.ramp_fields import ON_HARM, STEPS
from engine import vocabulary
from engine.design.goals import MARGIN_KEYS
from engine.design.targeting.fields import GROUP_OPERATORS, VALUES_OF_OPERATOR
from engine.measures.measure_table import CONFIG_MEASURES
from engine.vocabulary import words

Reader = Callable[[str], Any]
CHECKED: Final = "on"


def _text(value: str) -> str:
    return value


def _number(value: str) -> object:
    """Read a number; what is none stays as it is, for the API to say so."""
    for read in (int, float):
        # A whole number of hundreds of digits is too large for a float.
        with suppress(ValueError, OverflowError):
            number = read(value)
            if math.isfinite(number):
                return number
    return value


def _flag(value: str) -> bool:
    return value == CHECKED


def _time(value: str) -> str:
    """Read the time of a field of the browser, which has no offset, as UTC."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _lines(value: str) -> list[str]:
    return [line.strip() for line in value.splitlines() if line.strip()]


def _json(value: str) -> object:
    """Read JSON as the API does; what is none stays as it is, for the API to say so."""
    try:
        return read_json(value.encode())
    except (MalformedJsonError, TooManyValuesError):
        return value


# Keys of single values that one measure takes, by name: the type of each, and the measure.
MEASURE_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    key: (check.schema["type"], name)
    for name, measure in CONFIG_MEASURES.items()
    for key, check in measure.keys.items()
    if check.schema.get("type") in {"string", "integer"} and "enum" not in check.schema
}
_CONFIG: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(("event_name", "url", "match_type", "selector", "value_param", "currency"), _text),
    **dict.fromkeys(("measure", "numerator", "per", "direction"), _text),
    **dict.fromkeys(("denominator.measure", "denominator.event_name", "denominator.url"), _text),
    **dict.fromkeys(("denominator.selector", "of"), _text),
    "q": _number,
    "steps": _lines,
    **{key: _text if kind == "string" else _number for key, (kind, _) in MEASURE_KEYS.items()},
    **dict.fromkeys(("cap_percentile", "min_cents", "max_cents", "window"), _number),
    **dict.fromkeys((*MARGIN_KEYS, "minimum_effect_percent"), _number),
}
_STATISTICS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(("sequential", "correction", "alternative", "guardrails", "prior"), _text),
    "cuped": _flag,
    "covariates": _lines,
    **dict.fromkeys(("planned_sample", "minimum_effect_percent", "pre_period_days"), _number),
    **dict.fromkeys(("prior_lift_percent", "prior_deviation_percent"), _number),
}
# The choice of a unit that an attribute names, and the field of its key.
BY_ATTRIBUTE: Final = "attribute"
UNIT_KEY: Final = f"unit.{BY_ATTRIBUTE}"
# The fields of an exclusion group: without an id, there is none.
GROUP_ID: Final = "group.id"
GROUP_PERCENT: Final = "group.percent"
CONDITION: Final = "targeting_rules.root.children"
FIELDS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(("name", "test_key", "hypothesis", "type", "url", "url_match_type"), _text),
    **dict.fromkeys(("url_rules[].type", "url_rules[].match_type", "url_rules[].value"), _text),
    **dict.fromkeys(("unit", UNIT_KEY, GROUP_ID), _text),
    "public_variants": _flag,
    **dict.fromkeys(("traffic_strategy", "trigger", "trigger_selector", "analysis_method"), _text),
    **dict.fromkeys((f"{STEPS}[].percent", f"{STEPS}[].hours"), _number),
    ON_HARM: _text,
    **dict.fromkeys(("traffic_allocation", GROUP_PERCENT, "confidence_level"), _number),
    **dict.fromkeys(("scheduled_start_at", "scheduled_end_at"), _time),
    **dict.fromkeys(("stop_conditions.visitor_limit", "stop_conditions.conversion_limit"), _number),
    "stop_conditions.auto_stop_on_winner": _flag,
    **{f"statistics.{name}": read for name, read in _STATISTICS.items()},
    "targeting_rules": _json,
    "targeting_rules.root.operator": _text,
    **{f"{CONDITION}[].{name}": _text for name in ("field", "operator", "key")},
    f"{CONDITION}[].values": _lines,
    "variants[].id": _text,
    "variants[].name": _text,
    "variants[].weight": _number,
    "variants[].is_control": _flag,
    PAYLOAD: read_payload,
    **{f"variants[].changes[].{name}": _text for name in ("id", "selector", "action", "value")},
    **{f"goals[].{name}": _text for name in ("id", "name", "goal_type", "metric_id")},
    "goals[].is_primary": _flag,
    **{f"goals[].config.{name}": read for name, read in _CONFIG.items()},
    # Of the calculator beside the goals; a draft has none of them.
    **dict.fromkeys(("plan.baseline_rate", "plan.baseline_mean", "plan.standard_deviation"), _number),
    **dict.fromkeys(("plan.daily_visitors", "plan.power"), _number),
}
CONFIG_KEYS: Final = frozenset(name.partition(".")[0] for name in _CONFIG)
# What a new row of each list is sent with.
NEW_ROWS: Final[Mapping[str, Mapping[str, str]]] = {
    "variants": {"name": "", "weight": "1"},
    "variants[].changes": {"selector": "", "action": "modify_text", "value": ""},
    "goals": {"name": "", "goal_type": "custom_event"},
    "url_rules": {"type": "include", "match_type": "contains", "value": ""},
    CONDITION: {"field": "device_type", "operator": "equals", "values": ""},
    STEPS: {"percent": "", "hours": ""},
}
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "type": words(vocabulary.ExperimentType),
    "url_match_type": words(vocabulary.UrlMatchType),
    "url_rules[].type": words(vocabulary.UrlRuleType),
    "url_rules[].match_type": words(vocabulary.UrlMatchType),
    ON_HARM: words(vocabulary.HarmAction),
    "traffic_strategy": words(vocabulary.TrafficStrategy),
    "unit": (*words(vocabulary.UnitWord), BY_ATTRIBUTE),
    "trigger": words(vocabulary.Trigger),
    "analysis_method": words(vocabulary.AnalysisMethod),
    "statistics.sequential": words(vocabulary.SequentialMethod),
    "statistics.correction": words(vocabulary.Correction),
    "statistics.alternative": words(vocabulary.Alternative),
    "statistics.guardrails": words(vocabulary.GuardrailRule),
    "statistics.prior": words(vocabulary.Prior),
    "targeting_rules.root.operator": GROUP_OPERATORS[:2],
    f"{CONDITION}[].operator": tuple(VALUES_OF_OPERATOR),
    "variants[].changes[].action": words(vocabulary.ChangeAction),
    "goals[].goal_type": words(vocabulary.GoalType),
    "goals[].config.match_type": words(vocabulary.UrlMatchType),
    "goals[].config.measure": tuple(CONFIG_MEASURES),
    "goals[].config.of": words(vocabulary.QuantileOf),
    "goals[].config.numerator": words(vocabulary.Summed),
    "goals[].config.denominator.measure": words(vocabulary.Summed),
    "goals[].config.per": words(vocabulary.RevenuePer),
    "goals[].config.direction": words(vocabulary.Direction),
}
