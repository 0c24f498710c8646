"""Records of results read back from answers of the API, which have percents in the place of shares."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Final, TypeVar, get_args

from engine.analysis.results.answer_fields import AnswerUnit
from engine.analysis.results.answered_fields import Answered, answered_fields
from engine.analysis.results.flat_results import VIEWS, View, nest_variant
from engine.analysis.results.variant_result import Interval, VariantResult
from engine.design.goal import Goal
from engine.typed_records import record_of
from engine.vocabulary import MetricUnit

Record = TypeVar("Record")
_HUNDREDTHS: Final[frozenset[AnswerUnit]] = frozenset({"percent", "score", "progress"})
# Of a goal: percents where it is a share.
_OF_GOAL: Final[frozenset[AnswerUnit]] = frozenset({"mean", "difference"})


def read_record(kind: type[Record], answer: Mapping[str, Any], unit: MetricUnit = "number") -> Record:
    """Build a record from its answer, `unit` being that of its goal's metric; msgspec.ValidationError.

    Percents have two decimals, and so have the shares that come of them.
    """
    return record_of(_fields_of(kind, answer, unit), kind)


def read_variant(answer: Mapping[str, Any], goal: Goal) -> VariantResult:
    """Build the result of a variant on a goal from its answer; msgspec.ValidationError."""
    flat = _fields_of(VIEWS[VariantResult], answer, goal.unit)
    # Both counts are exact, and the percent is rounded.
    flat["conversion_rate"] = flat["conversions"] / max(flat["visitors"], 1)
    return record_of(nest_variant(flat, goal), VariantResult)


def _fields_of(kind: Any, answer: Mapping[str, Any], unit: MetricUnit) -> dict[str, Any]:  # noqa: ANN401 - a class or a view
    """Rename the fields of an answer, and convert them; those that are missing are left out."""
    return {
        one.name: _value(one, answer[one.answered], unit) for one in _answered(kind) if one.answered in answer
    }


@cache
def _answered(kind: type | View) -> tuple[Answered, ...]:
    return tuple(answered_fields(kind))


def _value(one: Answered, value: Any, unit: MetricUnit) -> Any:  # noqa: ANN401 - of any field
    if value is None:
        return None
    if one.view is not None:
        return _fields_of(one.view, value, unit)
    divisor = _divisor(one.field.unit, unit)
    record = _record_in(one.hint)
    if record is Interval:
        bounds = {name: _divided(value[name], divisor) for name in ("low", "high")}
        return {**bounds, "level": value["level"] / 100.0}
    if record is not None:
        many = isinstance(value, list)
        return [_fields_of(record, each, unit) for each in value] if many else _fields_of(record, value, unit)
    return _divided(value, divisor)


def _divisor(answered: AnswerUnit | None, unit: MetricUnit) -> float | None:
    is_percent = answered in _HUNDREDTHS or (answered in _OF_GOAL and unit == "share")
    return 100.0 if is_percent else None


def _divided(value: Any, divisor: float | None) -> Any:  # noqa: ANN401 - a number, a mapping of numbers, or else
    if divisor is None or value is None:
        return value
    if isinstance(value, Mapping):
        return {name: _divided(each, divisor) for name, each in value.items()}
    return value / divisor


def _record_in(hint: Any) -> type | None:  # noqa: ANN401 - a type
    """Find the record that a type is made of; None for plain values."""
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    return next((found for part in get_args(hint) if (found := _record_in(part))), None)
