"""Answers made from records of results: their schemas, and their values in percent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache, partial, reduce
from inspect import getdoc
from operator import or_
from types import GenericAlias, UnionType
from typing import Any, Final, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

from engine.analysis.results.answer_fields import AnswerUnit
from engine.analysis.results.answered_fields import Answered, answered_fields
from engine.analysis.results.flat_results import VIEWS, View
from engine.analysis.results.rounding import round_beside, round_percent
from engine.analysis.results.variant_result import Interval
from engine.vocabulary import MetricUnit

Record = TypeVar("Record")
_Column = tuple[str, Callable[[Any], Any], Callable[[Any, "Scale"], Any]]
# Components of the OpenAPI document that are not named like their record.
COMPONENT_NAMES: Final[Mapping[str, str]] = {
    "DayResult": "DayOfVariant",
    "PlanReport": "Plan",
    "WeightEpochResult": "WeightEpoch",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit of a goal's metric, and the threshold (a share) that its scores are compared with."""

    unit: MetricUnit = "number"
    threshold: float | None = None


_NO_SCALE: Final = Scale()


class Answer(Generic[Record]):
    """A record in an answer, as `answer` returns it: pydantic describes it by the fields of the record."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - a type
        """Take the schema of the record."""
        return handler.generate_schema(schema_of(*get_args(source)))


def answer(record: Any, scale: Scale = _NO_SCALE) -> Any:  # noqa: ANN401 - any record, and its fields
    """Return the fields of a record as they are answered, flat where it has a view; None stays None.

    Scores are compared with the threshold of the record itself, where it has one.
    """
    if record is None:
        return None
    threshold = getattr(record, "effective_confidence_threshold", None)
    if threshold is not None:
        scale = Scale(scale.unit, threshold)
    kind: Any = type(record)
    return _answer_as(VIEWS.get(kind, kind), record, scale)


@cache
def schema_of(record: Any) -> type[BaseModel]:  # noqa: ANN401 - a class, or a view of one
    """Describe a record: the fields that are answered, in their order."""
    kind = VIEWS.get(record, record)
    described: dict[str, Any] = {
        one.answered: (
            _answered_type(one.hint, one.view),
            Field(
                description=one.field.description,
                examples=None if one.field.example is None else [one.field.example],
            ),
        )
        for one in answered_fields(kind)
    }
    text = kind.description if isinstance(kind, View) else getdoc(kind)
    name = kind.name if isinstance(kind, View) else COMPONENT_NAMES.get(kind.__name__, kind.__name__)
    return create_model(name, __doc__=text, __module__=__name__, **described)


def percent(share: float | None) -> float | None:
    """Convert a share to a percent of two decimals: 118/1412 is 8.36. None stays None."""
    return None if share is None else round_percent(share)


def _answered_type(hint: Any, view: View | None = None) -> Any:  # noqa: ANN401 - a type
    """Replace records by their schemas, or by those of a view; also within other types."""
    if isinstance(hint, type) and is_dataclass(hint):
        return schema_of(view or hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return reduce(or_, [_answered_type(part, view) for part in parts])
    if origin is tuple:
        return GenericAlias(list, _answered_type(parts[0]))
    return GenericAlias(dict, parts) if origin is Mapping else hint


@cache
def _columns(kind: Any) -> tuple[_Column, ...]:  # noqa: ANN401 - a class or a view
    """Return for each answered field its name, its value in a record, and the conversion of that."""
    return tuple((one.answered, one.value, _conversion(one)) for one in answered_fields(kind))


def _conversion(one: Answered) -> Callable[[Any, Scale], Any]:
    if one.view is not None:
        return partial(_answer_as, one.view)
    return _as_it_is if one.field.unit is None else _CONVERSIONS[one.field.unit]


def _answer_as(kind: Any, record: Any, scale: Scale) -> Any:  # noqa: ANN401 - a class or a view, and its record
    """Answer a record by its class or by a view; None stays None."""
    if record is None:
        return None
    return {name: convert(value(record), scale) for name, value, convert in _columns(kind)}


def _as_it_is(value: Any, scale: Scale) -> Any:  # noqa: ANN401 - of any field
    if isinstance(value, tuple):
        return [_as_it_is(one, scale) for one in value]
    return answer(value, scale) if is_dataclass(value) else value


def _each(convert: Callable[[float, Scale], float]) -> Callable[[Any, Scale], Any]:
    """Convert a number, those of a mapping, or the bounds of an interval."""

    def converted(value: Any, scale: Scale) -> Any:  # noqa: ANN401 - of any such field
        if isinstance(value, Interval):
            bounds = {name: converted(getattr(value, name), scale) for name in ("low", "high")}
            return {**bounds, "level": round_percent(value.level)}
        if isinstance(value, Mapping):
            return {name: converted(one, scale) for name, one in value.items()}
        return None if value is None else convert(value, scale)

    return converted


def _score(share: float, scale: Scale) -> float:
    return round_percent(share) if scale.threshold is None else round_beside(share, scale.threshold)


def _difference(value: float, scale: Scale) -> float:
    # Adding zero makes a rounded -0.0 a plain 0.0.
    return round((100.0 if scale.unit == "share" else 1.0) * value, 4) + 0.0


_CONVERSIONS: Final[Mapping[AnswerUnit, Callable[[Any, Scale], Any]]] = {
    "percent": _each(lambda share, _: round_percent(share)),
    "score": _each(_score),
    "progress": _each(lambda share, _: round_beside(share, 1.0)),
    "mean": _each(lambda mean, scale: round_percent(mean) if scale.unit == "share" else mean),
    "difference": _each(_difference),
    "days": _each(lambda days, _: round(days, 2)),
}
