"""Notes of charts: what was done to a running experiment, by day, in the project's time zone."""

from datetime import date, timedelta
from typing import Any

from api.dashboard.results_page.chart_notes import MOST, Note, annotations
from engine.design.pauses import Pause
from pipeline.store.catalog.audit import AuditEntry
from tests.builders import STARTED, an_experiment


def an_entry(days: float, **changes: Any) -> AuditEntry:
    facts = {"id": "aud_1", "account_id": "acc_1", "actor": "key", "subject_id": "exp_1"}
    return AuditEntry(at=STARTED + timedelta(days=days), changes=changes, **facts)


def test_what_happened_is_told_by_day() -> None:
    paused = Pause(started_at=STARTED + timedelta(days=5), ended_at=STARTED + timedelta(days=7))
    experiment = an_experiment(status="running", pauses=(paused,))
    trail = [
        an_entry(-1, hypothesis=["a", "b"]),
        an_entry(2, hypothesis=["a", "b"], updated_at=["2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]),
        an_entry(2.01, traffic_allocation=[50, 100]),
        an_entry(3, variants=[[{"weight": 1}, {"weight": 1}], [{"weight": 1}, {"weight": 3}]]),
        an_entry(5, status=["running", "paused"]),
        an_entry(9.9, status=["running", "completed"]),
        an_entry(9, id=[None, "exp_1"], traffic_allocation=[None, 100]),
    ]
    notes = annotations(
        experiment, trail, reached_at=STARTED + timedelta(days=4), timezone="Pacific/Auckland"
    )
    # The start is on the evening of the first of March in Auckland.
    assert notes == (
        Note(day=date(2026, 3, 1), text="started"),
        Note(day=date(2026, 3, 3), text="hypothesis edited, traffic 50% → 100%"),
        Note(day=date(2026, 3, 4), text="weights 1 : 3"),
        Note(day=date(2026, 3, 5), text="plan reached: the one planned look"),
        Note(day=date(2026, 3, 6), until=date(2026, 3, 8), text="paused"),
        Note(day=date(2026, 3, 11), text="ended"),
    )


def test_a_bandit_s_weights_and_too_many_days_are_not_told() -> None:
    moves = [an_entry(day, variants=[[{"weight": 1}], [{"weight": day}]]) for day in range(1, 40)]
    edits = [an_entry(day, name=["a", "b"]) for day in range(1, 40)]
    bandit = an_experiment(status="running", traffic_strategy="bandit")
    notes = annotations(bandit, moves + edits, reached_at=None, timezone="UTC")
    assert {note.text for note in notes} == {"name edited"}
    assert len(notes) == MOST
    assert annotations(an_experiment(), edits, reached_at=None, timezone="UTC") == ()
