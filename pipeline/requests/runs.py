"""Requests for runs: what to carry out, on which days, and the caller's key for it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final

from engine.errors import Problem
from engine.local_days import read_day
from engine.typed_records import record_of
from engine.validation.check import Check, check_with
from engine.validation.input_records import read_record
from engine.validation.records import Record, RecordRule, keys_of, validate
from engine.validation.values import choice, flag, optional, shown, text
from pipeline.store.catalog.runs.run_record import Run

KINDS: Final = ("rollup", "rebuild", "snapshot")
TRIGGERS: Final = ("api", "command_line")


@check_with(type="string", format="date")
def _day(value: object) -> Iterator[Problem]:
    if not isinstance(value, str) or not _is_day(value):
        yield Problem("", f"must be a day such as 2026-11-20, not {shown(value)}")


def _is_day(value: str) -> bool:
    try:
        read_day(value)
    except ValueError:
        return False
    return True


_DAYS: Final[Check] = keys_of(
    {"from": _day, "to": _day},
    required=("from", "to"),
    what="the days",
    definition=("RunDays", "Local days of the project, both included."),
)


def _days_in_order(run: Record) -> Iterable[Problem]:
    days = run.get("days")
    if days is not None and days["from"] > days["to"]:
        yield Problem("days.to", f"is before {days['from']}; give the first day as `from`")


def _of_a_rebuild(run: Record) -> Iterable[Problem]:
    for name in ("days", "night"):
        if run.get(name) and run.get("kind") not in {"rebuild", None}:
            yield Problem(name, f"only a rebuild has `{name}`; leave it out")
    if run.get("days") and run.get("night"):
        yield Problem("night", "a night is of all days; leave out `days` or `night`")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run to carry out."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_days_in_order, _of_a_rebuild)

    kind: Annotated[
        str,
        choice(KINDS).described(
            "`rollup` counts new events; `rebuild` counts from the first event on, and reports drift; "
            "`snapshot` writes Parquet files."
        ),
    ]
    days: Annotated[
        Mapping[str, str] | None,
        optional(_DAYS).described(
            "For a rebuild: recount only the experiments that ran on one of these days, each from its first "
            "event on; all of them while null."
        ),
    ] = None
    night: Annotated[
        bool,
        flag.described("For a rebuild: check as a night does, count anew where needed."),
    ] = False
    run_key: Annotated[
        str | None,
        optional(text(255)).described(
            "A key of your choice, such as the id of a scheduler's task: with the same key the project has "
            "one run, for as long as its record is kept.",
            example="nightly-2026-03-02",
        ),
    ] = None
    trigger: Annotated[str, choice(TRIGGERS).described("What asks for the run, for its record.")] = "api"

    def __post_init__(self) -> None:
        validate(self)


def read_run(project_id: str, fields: Mapping[str, Any], *, now: datetime) -> Run:
    """Build the queued run of a project from JSON-like input; InvalidDesignError with every problem."""
    asked = read_record(fields, RunRequest, "a run")
    return record_of(
        {
            "project_id": project_id,
            "kind": asked.kind,
            "trigger": asked.trigger,
            "run_key": asked.run_key,
            "parameters": {
                **({} if asked.days is None else {"days": dict(asked.days)}),
                **({"night": True} if asked.night else {}),
            },
            "created_at": now,
        },
        Run,
    )
