"""A remote service: its frames and reports have the numbers of the API."""

import sys
from datetime import date
from typing import Any

import pandas as pd
import polars as pl
import pytest

from api.schemas.results import Results
from api.schemas.segment_results import Segments
from engine.charts.forest import chart_improvements
from engine.charts.lift_over_time import chart_lift
from engine.charts.report import chart_rates
from pipeline.results.filters import SegmentFilters
from tests.api.routes.test_results import Observed
from tests.truelift.remote.conftest import reader_of
from truelift.remote.remote_service import RemoteService, connect
from truelift.remote.rest_reader import RemoteError


@pytest.fixture(scope="module")
def service(observed: Observed) -> RemoteService:
    return RemoteService(reader_of(observed.customer), "https://ab.example")


@pytest.fixture(scope="module")
def experiment_id(observed: Observed) -> str:
    return observed.path.rpartition("/")[2]


def test_a_report_has_every_number_of_the_results(
    service: RemoteService, observed: Observed, experiment_id: str
) -> None:
    report, answer = service.report(experiment_id), observed.read()
    again = Results.of(report, {}, SegmentFilters()).model_dump(mode="json")
    # Those of the service, and of no report.
    for name in ("available_segments", "as_of"):
        del again[name], answer[name]
    assert again == answer
    assert report.experiment.status == "running"
    for chart in (chart_improvements(report), chart_rates(report), chart_rates(report, observed.goals[1])):
        assert chart.to_dict()["data"]["values"]
    # The band of every look needs what no answer has.
    assert all(row["all_looks_low"] is None for row in chart_lift(report).to_dict()["data"]["values"])


def test_filtered_results_are_those_of_the_filter(
    service: RemoteService, observed: Observed, experiment_id: str
) -> None:
    found = service.results(experiment_id, device_type="mobile")
    answer = observed.read(device_type="mobile")["variants"]
    assert found["visitors"].to_list() == [one["visitors"] for each in answer.values() for one in each]
    assert found["visitors"].to_list() == [60] * 4
    custom = service.results(experiment_id, custom_dimension_key="plan", custom_dimension_value="pro")
    assert custom["visitors"].to_list() == [120] * 4
    with pytest.raises(ValueError, match="cannot be filtered by devcie_type"):
        service.results(experiment_id, devcie_type="mobile")


def test_frames_have_the_numbers_of_the_api(
    service: RemoteService, observed: Observed, experiment_id: str
) -> None:
    results = service.results(experiment_id)
    flat = [one for each in observed.read()["variants"].values() for one in each]
    assert results["variant_id"].to_list() == [one["variant_id"] for one in flat]
    for column in ("visitors", "conversions", "revenue_cents", "p_value"):
        assert results[column].to_list() == [one[column] for one in flat]
    for column in ("improvement", "score_value", "chance_to_be_best"):
        assert in_percent(results[column].to_list()) == [one[column] for one in flat]
    low = [one["improvement_interval"] and one["improvement_interval"]["low"] for one in flat]
    assert in_percent(results["improvement_interval_low"].to_list()) == low

    days = service.time_series(experiment_id).filter(goal_id=observed.goals[1])
    of_goal = observed.read("/timeseries", goal_id=observed.goals[1])
    assert days["date"].to_list() == [date.fromisoformat(one["date"]) for one in of_goal for _ in range(2)]
    counted = [one for day in of_goal for one in day["variants"].values()]
    assert days["revenue_cents"].to_list() == [one["revenue_cents"] for one in counted]
    assert sum(days["revenue_cents"]) == 4000


def test_segments_have_the_numbers_of_the_api(
    service: RemoteService, observed: Observed, experiment_id: str
) -> None:
    report, answer = service.segment_report(experiment_id), observed.read("/segments")
    again = Segments.of(report).model_dump(mode="json")
    del again["as_of"], answer["as_of"]
    assert again == answer
    frame = service.segments(experiment_id)
    segments = [one for goal in answer["goals"] for one in goal["segments"]]
    assert frame.filter("is_control")["visitors"].to_list() == [
        one["control"]["visitors"] for one in segments if one["control"]
    ]
    challengers = [arm for one in segments for arm in one["variants"]]
    assert len(challengers) > 4
    shrunk = frame.filter(~frame["is_control"])["shrunk_improvement"].to_list()
    assert in_percent(shrunk) == [one["shrunk_improvement"] for one in challengers]


def test_lists_have_all_pages_and_archived_experiments(observed: Observed) -> None:
    customer = observed.customer
    project = customer.a_project()
    names = [f"Test {number}" for number in range(3)]
    units = ("visitor", "user", {"attribute": "account"})
    paths = [
        customer.an_experiment(project, name=name, unit=unit) for name, unit in zip(names, units, strict=True)
    ]
    for step in ("start", "complete", "archive"):
        assert customer.post(f"{paths[0]}/{step}").status_code == 200
    service = RemoteService(reader_of(customer), "https://ab.example", project=project.rpartition("/")[2])
    listed = service.experiments()
    assert dict(zip(listed["name"], listed["status"], strict=True)) == {
        "Test 0": "archived",
        "Test 1": "draft",
        "Test 2": "draft",
    }
    assert sorted(listed["unit"]) == ["account", "user", "visitor"]
    verdicts = service.verdicts()
    assert sorted(verdicts["name"]) == names
    assert verdicts["started_at"].null_count() == 2
    assert service.report("Test 0").experiment.completed_at is not None
    pages = list(reader_of(customer).read_pages(f"{project}/experiments", 1))
    assert [one["name"] for one in pages] == ["Test 2", "Test 1"]


def test_verdicts_have_the_numbers_of_the_list(service: RemoteService, observed: Observed) -> None:
    listed = observed.customer.get("/account/verdicts").json()["data"]
    assert service.report(listed[0]["id"])
    frame = service.verdicts()
    answers = {
        one["id"]: one["verdict"] or {} for one in observed.customer.get("/account/verdicts").json()["data"]
    }
    assert frame["verdict"].to_list() == [answers.get(one, {}).get("verdict") for one in frame["id"]]
    row = frame.row(by_predicate=pl.col("id") == observed.path.rpartition("/")[2], named=True)
    verdict = answers[row["id"]]
    assert in_percent([row["lift_improvement"]]) == [verdict["lift"]["improvement"]]
    assert in_percent([row["plan_progress"]]) == [verdict["plan"]["progress_percent"]]
    assert row["visitors"] == verdict["visitors"] == 240


def test_frames_can_be_of_pandas(observed: Observed, experiment_id: str) -> None:
    service = RemoteService(reader_of(observed.customer), "https://ab.example", frames="pandas")
    assert isinstance(service.results(experiment_id), pd.DataFrame)


def test_pandas_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        connect("https://ab.example", "secret", frames="pandas")


def test_the_key_is_in_no_text(caplog: pytest.LogCaptureFixture, observed: Observed) -> None:
    caplog.set_level("DEBUG")
    service = connect("http://127.0.0.1:9", "sk_hidden", project="prj_1")
    reader = service._reader  # noqa: SLF001  # how long it waits is not the caller's
    object.__setattr__(reader, "sleep", lambda _: None)
    with pytest.raises(RemoteError, match="cannot be reached") as refused:
        service.verdicts()
    said = f"{service!r} {reader!r} {vars(service)} {refused.value!r} {caplog.text}"
    assert "prj_1" in said
    assert "sk_hidden" not in said


@pytest.mark.parametrize(
    ("url", "key", "named"),
    [
        ("ab.example", "secret", "url"),
        ("https://key@ab.example", "secret", "url"),
        ("https://ab.example", "pk_public", "key"),
        ("https://ab.example", "two\nlines", "key"),
    ],
)
def test_what_cannot_be_right_is_refused_without_the_key(url: str, key: str, named: str) -> None:
    with pytest.raises(ValueError, match=f"{named} must be") as refused:
        connect(url, key)
    assert key not in str(refused.value)


def test_an_unknown_experiment_has_a_hint(service: RemoteService) -> None:
    name = service.verdicts()["name"][0]
    with pytest.raises(KeyError, match="did you mean"):
        service.report(f"{name}s")


def in_percent(shares: list[Any]) -> list[Any]:
    return [None if one is None else round(100 * one, 2) for one in shares]
