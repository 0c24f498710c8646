"""Feed of recent changes: each as a sentence, newest first."""

from datetime import UTC, datetime, timedelta

from api.dashboard.listed_rows import rows_of
from api.dashboard.today_feed import feed_of
from engine.analysis.results.kept_verdict import ExperimentChange
from pipeline.store.catalog.experiment_listings import ListedExperiment, ListedVerdict

NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)


def test_every_kind_of_change_is_a_sentence() -> None:
    said = {
        ("verdict", "keep_running", "ship"): ("has another verdict", "Keep running → Ship"),
        ("plan", None, "reached"): ("reached its plan", ""),
        ("health", None, "sample_ratio"): ("has an alarm", "Sample ratio"),
        ("health", "sample_ratio", None): ("is sound again", "Sample ratio"),
        ("status", None, "draft"): ("was drafted", "Ada"),
        ("status", "draft", "running"): ("started", "Ada"),
        ("status", "paused", "running"): ("was resumed", "Ada"),
        ("status", "running", "completed"): ("ended", "Ada"),
        ("weights", "80 : 20", "50 : 50"): ("has other weights", "80 : 20 → 50 : 50"),
        ("settings", None, "hypothesis, custom_css"): ("was edited", "hypothesis, custom css"),
    }
    head = ListedExperiment(id="exp_1", project_id="prj_1", name="Button", status="running", updated_at=NOW)
    changes = [
        ExperimentChange(
            at=NOW - timedelta(hours=hours),
            kind=kind,  # type: ignore[arg-type] # of the table
            before=before,
            after=after,
            actor="Ada" if kind in {"status", "settings", "weights"} else None,
        )
        for hours, (kind, before, after) in enumerate(said)
    ]
    rows = rows_of([ListedVerdict(head, None)], {}).rows
    feed = feed_of(rows, {"exp_1": changes[::-1]}, now=NOW, zone=UTC, most=len(said))
    assert [(one.happened, one.more) for one in feed] == list(said.values())
    assert (feed[0].time, feed[-1].time) == ("09:00", "00:00")
    older = feed_of(rows, {"exp_1": changes}, now=NOW + timedelta(days=1), zone=UTC, most=1)
    assert [one.time for one in older] == ["Tue 09:00"]
