"""Fields of records that answers have: their names there, types and units."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from engine.analysis.results.answer_fields import AnswerField
from engine.analysis.results.flat_results import View

_PLAIN: Final = AnswerField()


@dataclass(frozen=True, slots=True)
class Answered:
    """A field under its name in answers, and in the record or view: its value, type and description."""

    answered: str
    name: str
    value: Callable[[Any], Any]
    hint: Any
    field: AnswerField
    view: View | None = None


def answered_fields(kind: Any) -> Iterator[Answered]:  # noqa: ANN401 - a class or a view
    """List the fields that are answered."""
    if isinstance(kind, View):
        for place in kind.places:
            field, hint = place.field, _type_at(kind.record, place.path.split("."))
            if field.is_answered:
                yield Answered(field.name or place.name, place.name, place.value, hint, field, place.view)
        return
    for one in fields(kind):
        hint, field = _described_type(kind, one.name)
        if field.is_answered:
            yield Answered(field.name or one.name, one.name, attrgetter(one.name), hint, field)


def _described_type(record: Any, name: str) -> tuple[Any, AnswerField]:  # noqa: ANN401 - a class
    """Return the type of an attribute, and what is said of it."""
    member = getattr(record, name, None)
    hints = get_type_hints(member.fget if isinstance(member, property) else record, include_extras=True)
    hint = hints["return" if isinstance(member, property) else name]
    return get_args(hint) if get_origin(hint) is Annotated else (hint, _PLAIN)


def _type_at(record: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - a class, and a type
    """Return the type at the end of a path, which may be None where a record on the way may be."""
    hint, _ = _described_type(record, path[0])
    if len(path) == 1:
        return hint
    owner = next(one for one in get_args(hint) or (hint,) if one is not type(None))
    found = _type_at(owner, path[1:])
    return found | None if type(None) in get_args(hint) else found
