"""Recent changes: what the audit trail and the data tell, by experiment."""

from datetime import timedelta
from typing import Any

from engine.analysis.results.kept_verdict import following
from pipeline.results.recent_changes import recent_changes
from pipeline.store.catalog.audit import AuditEntry
from pipeline.store.catalog.experiment_listings import ListedExperiment, ListedVerdict
from tests.builders import NOW
from tests.engine.analysis.results.test_kept_verdict import at, seen


def an_entry(hours: int, **changes: Any) -> AuditEntry:
    time = NOW + timedelta(hours=hours)
    return AuditEntry(id="a", at=time, account_id="acc", actor="key_1", subject_id="exp_1", changes=changes)


def test_changes_of_an_experiment_and_of_its_data_are_told_together() -> None:
    sound, broken = at(seen((500, 700)), NOW), at(seen((400, 700), (4_000, 6_000)), NOW + timedelta(hours=2))
    head = ListedExperiment(id="exp_1", project_id="prj_1", name="Button", status="paused", updated_at=NOW)
    found = ListedVerdict(head, following(sound, broken))
    even, uneven = [[{"id": "a", "weight": 1}, {"id": "b", "weight": each}] for each in (1, 4)]
    entries = [
        an_entry(1, variants=[uneven, even], updated_at=[1, 2]),
        an_entry(3, status=["running", "paused"], pauses=[[], [1]]),
        an_entry(4, name=["A", "B"], hypothesis=[None, "It sells"]),
        an_entry(5, pauses=[[], [1]]),
        # Written now of a time long before, as a simulated past is.
        an_entry(6, status=["draft", "running"], started_at=[None, (NOW - timedelta(days=9)).isoformat()]),
        an_entry(6, name=["B", "C"], updated_at=[None, (NOW - timedelta(days=9)).isoformat()]),
    ]
    told = recent_changes([found], entries, {"key_1": "Ada"}, since=NOW + timedelta(minutes=90))["exp_1"]
    assert [(one.kind, one.before, one.after, one.actor) for one in told] == [
        ("settings", None, "hypothesis, name", "Ada"),
        ("status", "running", "paused", "Ada"),
        ("verdict", "ship", "fix_data", None),
        ("health", None, "sample_ratio", None),
        ("weights", "1 : 4", "1 : 1", "Ada"),
    ]
