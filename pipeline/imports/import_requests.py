"""Requests for imports: a file with its columns, or the name of a described source."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Final

import msgspec

from engine.design.units import UNIT
from engine.errors import InvalidDesignError, Problem
from engine.validation.check import Check, check_with
from engine.validation.input_records import read_record
from engine.validation.records import Record, RecordRule, validate
from engine.validation.values import optional, shown
from pipeline.store.catalog.runs.run_record import Run, Trigger

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


@check_with(type="string", pattern=f"^{_NAME.pattern}$")
def _source_name(value: object) -> Iterator[Problem]:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        yield Problem("", f"must be the name of a described source, such as orders, not {shown(value)}")


_SOURCE_NAME: Final[Check] = _source_name


def _one_origin(asked: Record) -> Iterable[Problem]:
    if (asked.get("source") is None) == (asked.get("command_file") is None):
        yield Problem("source", "name a source, or send the content of a file")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """An import of a source that is described on the server."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_one_origin,)

    source: Annotated[
        str | None,
        optional(_SOURCE_NAME).described(
            "Name of a source that a file in the folder `sources` of the service's data folder describes, "
            "without `.toml`.",
            example="orders",
        ),
    ] = None
    command_file: Annotated[
        str | None,
        optional(_SOURCE_NAME).described(
            "Name of a file in which `truelift import` on the service's machine left what to import.",
            example="orders.csv",
        ),
    ] = None

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """Meaning of an uploaded file: rows of visitors where `variant` is given, of events otherwise."""

    file_name: str
    variant: str | None = None
    control: str | None = None
    goals: tuple[str, ...] = ()
    visitor: str | None = None
    timestamp: str | None = None
    segments: tuple[str, ...] = ()
    unit: str | None = None
    name: str | None = None
    running: bool = False
    max_bad_share: float = 1.0

    @property
    def experiment_name(self) -> str:
        """Name of the experiment of visitors: the file's without any."""
        return self.name or PurePath(self.file_name).stem

    @property
    def goal_types(self) -> dict[str, str]:
        """Type of the goal of each column, which ends in `:revenue` where it has amounts."""
        pairs = (given.rpartition(":") for given in self.goals)
        return {
            (column if kind == "revenue" and column else given): (
                "revenue" if kind == "revenue" and column else "custom_event"
            )
            for (column, _, kind), given in zip(pairs, self.goals, strict=True)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """Content of an uploaded file: its digest, its size in bytes, and its format, such as `.csv`."""

    sha256: str
    size: int
    suffix: str


def source_import(
    project_id: str, fields: Mapping[str, Any], *, run_key: str | None, trigger: Trigger, now: datetime
) -> Run:
    """Build the queued run of a source from JSON-like input; InvalidDesignError with every problem."""
    asked = read_record(fields, ImportRequest, "an import")
    origin = {"source": asked.source} if asked.source is not None else {"command_file": asked.command_file}
    return Run(
        project_id=project_id,
        kind="import",
        trigger=trigger,
        run_key=run_key,
        parameters=origin,
        created_at=now,
    )


def file_import(  # noqa: PLR0913 - each is a fact of the run
    project_id: str,
    options: FileOptions,
    sent: SentFile,
    *,
    run_key: str | None,
    trigger: Trigger,
    now: datetime,
) -> Run:
    """Build the queued run of an uploaded file; InvalidDesignError where its options make no sense."""
    if problems := list(_problems(options, sent)):
        raise InvalidDesignError(problems)
    return Run(
        project_id=project_id,
        kind="import",
        trigger=trigger,
        run_key=run_key,
        # As they are read back from the catalog, to be compared with those of the same key.
        parameters=msgspec.json.decode(msgspec.json.encode({"file": sent, "options": options})),
        created_at=now,
    )


def _problems(options: FileOptions, sent: SentFile) -> Iterator[Problem]:
    if sent.size == 0:
        yield Problem("body", "has no content; send the file")
    if options.variant is None:
        given = msgspec.to_builtins(options)
        for name in ("control", "goals", "visitor", "timestamp", "segments", "unit", "name", "running"):
            if given[name]:
                yield Problem(name, "is for rows of visitors; name the column of the variant, too")
        return
    if options.control is None:
        yield Problem("control", "is missing; name the value of the control")
    if not options.goals:
        yield Problem("goals", "is missing; name at least one column")
    single = (options.variant, options.visitor, options.timestamp, options.unit)
    columns = [one for one in (*single, *options.goal_types, *options.segments) if one is not None]
    if len(set(columns)) < len(columns) or len(options.goal_types) < len(options.goals):
        yield Problem("variant", "one column has two meanings")
    if options.unit is not None:
        yield from (Problem("unit", one.message) for one in UNIT({"attribute": options.unit}))
