"""Records built from JSON-like input, or refused with every problem."""

from typing import TypeVar

from engine.errors import InvalidDesignError
from engine.typed_records import record_of
from engine.validation.parsing import fields_of, unknown_fields
from engine.validation.record_fields import writable
from engine.validation.records import problems_in

RecordT = TypeVar("RecordT")


def read_record(fields: object, kind: type[RecordT], what: str) -> RecordT:
    """Build a record of a kind whose fields are all the caller's; `what` names it, such as "a run".

    Raises InvalidDesignError with every problem.
    """
    given = fields_of(fields, what)
    problems = problems_in(given, kind)
    problems += unknown_fields(given, writable(kind), (), what)  # type: ignore[arg-type] # every class is hashable
    if problems:
        raise InvalidDesignError(problems)
    return record_of(given, kind)
