"""Reports built from answers of the API are answered in the same way again, number by number."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from api.schemas.experiments import ExperimentDetail
from api.schemas.results import Results, days_of
from api.schemas.segment_results import Segments
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.charts.segments import chart_segment_report
from engine.design.analysis_settings import Statistics
from engine.frames.analyze import analyze_frame
from engine.frames.segments import analyze_frame_segments
from pipeline.results.filters import SegmentFilters
from tests.engine.analysis.results.test_flat_results import GOALS, visitors
from truelift.remote.answered_reports import report_of, segment_report_of
from truelift.remote.rest_reader import RemoteError


def answers_of(report: Report | SegmentReport) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the listing and the details of the experiment, as JSON has them."""
    detail = ExperimentDetail.of(report.experiment).model_dump(mode="json")
    if isinstance(report, Report) and report.clustered_by is not None:
        # Of a frame the experiment does not know its clusters.
        detail["unit"] = {"attribute": report.clustered_by}
    listed = {
        "project_id": "prj_1",
        "started_at": report.experiment.started_at and report.experiment.started_at.isoformat(),
        "completed_at": report.experiment.completed_at and report.experiment.completed_at.isoformat(),
    }
    return listed, detail


def results_of(report: Report) -> dict[str, Any]:
    return Results.of(report, {}, SegmentFilters()).model_dump(mode="json")


def read_again(report: Report) -> Report:
    days = {one.goal.id: [day.model_dump(mode="json") for day in days_of(one)] for one in report.goals}
    return report_of(*answers_of(report), results_of(report), days)


@pytest.mark.parametrize(
    "settings",
    [
        {"running": True, "statistics": Statistics(sequential="always_valid")},
        {"analysis_method": "bayesian"},
        {"cluster": "account"},
        {
            "weight_epochs": [
                (datetime(2026, 3, 2, tzinfo=UTC), {"old": 1, "new": 1}),
                (datetime(2026, 3, 9, tzinfo=UTC), {"old": 1, "new": 3}),
            ]
        },
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_every_number_of_every_measure_is_answered_again(settings: dict[str, Any]) -> None:
    is_plain = {"cluster", "weight_epochs"}.isdisjoint(settings)
    goals = GOALS if is_plain else {name: GOALS[name] for name in ("bought", "spent")}
    frame = visitors().with_columns(account=pl.int_range(pl.len()) // 8 * 2 + pl.int_range(pl.len()) % 2)
    report = analyze_frame(frame, control="old", goals=goals, timestamp="at", **settings)
    again = read_again(report)
    assert results_of(again) == results_of(report)
    for first, second in zip(report.goals, again.goals, strict=True):
        assert days_of(second) == days_of(first)
        assert [one.metric.name for one in second.variants] == [one.metric.name for one in first.variants]
    assert again.clustered_by == report.clustered_by
    # The verdict; below it, a percent of two decimals may be rounded once more.
    assert repr(again).splitlines()[:3] == repr(report).splitlines()[:3]


def test_every_number_of_segments_is_answered_again() -> None:
    goals = {name: GOALS[name] for name in ("bought", "spent")}
    frame = visitors().rename({"again": "returns"})
    report = analyze_frame_segments(frame, control="old", goals=goals, segments=["returns"])
    again = segment_report_of(*answers_of(report), Segments.of(report).model_dump(mode="json"))
    assert report.comparisons > 0
    assert Segments.of(again) == Segments.of(report)
    drawn, first = (chart_segment_report(one).to_dict()["data"]["values"] for one in (again, report))
    assert {row["value"] for row in drawn} == {"true", "false"}
    assert [row["status"] for row in drawn] == [row["status"] for row in first]
    assert repr(again) == repr(report)


def test_an_answer_of_another_version_is_refused_in_a_sentence() -> None:
    report = analyze_frame(visitors(40), control="old", goals={"bought": GOALS["bought"]})
    listed, detail = answers_of(report)
    results = results_of(report)
    results["plan"]["source"] = "guessed"
    with pytest.raises(RemoteError, match="service is of another version"):
        report_of(listed, detail, results, {report.goals[0].goal.id: []})
