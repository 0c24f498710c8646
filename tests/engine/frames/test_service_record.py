from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from engine.analysis.evidence.recorded_looks import RecordedLook, with_ids
from engine.analysis.results.report import Report
from engine.design.pauses import Pause
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted
from engine.frames.service_record import ServiceRecord

STARTED = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
RECORD = ServiceRecord(now=STARTED + 10 * DAY, status="running", started_at=STARTED)


def analyzed(**arguments: object) -> Report:
    """2,000 visitors a variant on the second day, of whom 10% and 12.5% buy and few return."""
    rows = [
        (arm, STARTED + DAY, number < buyers, number < 100)
        for arm, buyers in (("A", 200), ("B", 250))
        for number in range(2_000)
    ]
    frame = pl.DataFrame(rows, schema=["variant", "at", "bought", "returned"], orient="row")
    return analyze_frame(
        frame,
        control="A",
        **{"goals": ["bought", "returned"], "timestamp": "at", **arguments},  # type: ignore[arg-type]
    )


def action(report: Report) -> tuple[str, str | None]:
    assert report.primary is not None
    return report.primary.decision.recommendation, report.primary.decision.reason


def test_running_days_are_those_of_the_service() -> None:
    pause = Pause(started_at=STARTED + 2 * DAY, ended_at=STARTED + 5 * DAY)
    record = ServiceRecord(now=STARTED + 10 * DAY, status="running", started_at=STARTED, pauses=(pause,))
    report = analyzed(service=record)
    assert (report.plan.running_days, report.as_of) == (7.0, STARTED + 10 * DAY)
    assert action(report) == ("keep_running", None)


def test_goals_have_their_margins_and_minimum_effects() -> None:
    goals = {"bought": Converted(minimum_effect=40), "returned": Converted(guardrail=5)}
    report = analyzed(service=RECORD, goals=goals)
    assert report.plan.minimum_effect == 0.4
    assert [goal.goal.config.get("guardrail_margin_percent") for goal in report.goals] == [None, 5.0]
    # A plan for 40% is reached, and one for 10% is not.
    assert (report.plan.is_reached, analyzed(service=RECORD).plan.is_reached) == (True, False)


def test_visitors_excluded_by_the_service_raise_its_alarm() -> None:
    record = ServiceRecord(
        now=STARTED + 10 * DAY, status="running", started_at=STARTED, several_variants=100, bots=7
    )
    report = analyzed(service=record)
    assert action(report)[0] == "fix_data"
    details = {check.check: check.details for check in report.health}
    assert (details["several_variants"]["visitors"], details["bots"]["visitors"]) == (100, 7)


def test_recorded_look_stays_the_one_that_judges() -> None:
    finished = analyzed()
    look = finished.due_look
    assert look is not None
    # Looks are by name, ids in a frame are of its own.
    named = analyzed(service=RECORD, looks=[_by_name(finished)])
    assert action(analyzed(service=RECORD)) == ("keep_running", None)
    assert action(named) == action(finished) == ("ship", None)
    assert (named.plan.source, named.plan.reached_at) == ("finished", look.taken_at)


def test_status_is_said_once() -> None:
    with pytest.raises(InvalidEvidenceError, match="leave out running"):
        analyzed(service=RECORD, running=True)


def _by_name(report: Report) -> RecordedLook:
    assert report.due_look is not None
    (look,) = with_ids(
        [report.due_look],
        goals={one.goal.id: one.goal.name for one in report.goals},
        variants={one.id: one.name for one in report.experiment.variants},
    )
    return look
