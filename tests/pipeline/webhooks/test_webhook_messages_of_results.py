"""Messages of results that changed: a decision and an alarm are told once, and to nobody costs nothing."""

import json
from datetime import datetime
from typing import Any

import pytest

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.results import Results
from pipeline.webhooks import webhook_messages
from pipeline.webhooks.webhook_messages import announce_changed_results
from tests.builders import STARTED
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.simulated_days import DAY, GOALS, SimulatedDays
from tests.pipeline.webhooks.told_webhooks import deliveries, told

URL = "https://shop.example/"


def observe(service: RestartableService, at: datetime) -> None:
    service.now = at
    announce_changed_results(service.store)


def test_a_decision_that_changes_is_told_once(service: RestartableService, project: Project) -> None:
    webhook, _ = told(service, project, URL, events=["experiment.decision"])
    large = Statistics(minimum_effect_percent=40)
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=large)
    days = SimulatedDays(experiment, (0.30, 0.38), seed=4)
    recommended: list[str] = []
    for day in (0, 3, 6, 9, 12):
        at = STARTED + (day + 1) * DAY
        arrived = (row for one in range(max(0, day - 2), day + 1) for row in days.arrive(one))
        service.run_at(at, *arrived, project=project)
        for _ in range(2):
            observe(service, at)
        primary = service.report(experiment, project).primary
        assert primary is not None
        recommended.append(primary.decision.recommendation)
    changes = [
        (before, after)
        for before, after in zip(["insufficient_data", *recommended], recommended, strict=False)
        if before != after
    ]
    data = [json.loads(one.content)["data"] for one in deliveries(service, webhook)]
    assert [(one["previous_recommendation"], one["recommendation"]) for one in data] == changes
    assert changes[-1][1] == "ship"
    assert data[-1]["variant_name"] == experiment.variants[1].name
    assert data[-1]["headline"]
    service.restart()
    observe(service, STARTED + 14 * DAY)
    assert len(deliveries(service, webhook)) == len(changes)


def test_an_alarm_is_told_when_it_begins(service: RestartableService, project: Project) -> None:
    webhook, _ = told(service, project, URL, events=["experiment.health_alarm"])
    experiment = service.store.add_experiment(project, goals=GOALS, weights=(1, 1))
    days = SimulatedDays(experiment, (0.3, 0.3), seed=2)
    for day in range(4):
        at, rows = STARTED + (day + 1) * DAY, [*days.arrive(day)]
        lost = {row.visitor_id for row in rows if row.variant_id == experiment.variants[0].id and day}
        service.run_at(at, *(row for row in rows if row.visitor_id not in lost), project=project)
        for _ in range(2):
            observe(service, at)
    told_of = [json.loads(one.content)["data"] for one in deliveries(service, webhook)]
    alarms = [check.check for check in service.report(experiment, project).health if check.status == "alarm"]
    assert "sample_ratio" in alarms
    assert sorted(one["check"] for one in told_of) == sorted(alarms)
    assert "Sample ratio mismatch" in " ".join(one["message"] for one in told_of)


def test_nothing_is_analyzed_where_nobody_is_told(
    service: RestartableService, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.store.add_experiment(project, goals=GOALS)
    monkeypatch.setattr(webhook_messages, "_announce", _fail)
    observe(service, STARTED + DAY)
    told(service, project, URL, events=["experiment.started"])
    observe(service, STARTED + DAY)


def test_results_of_one_project_that_cannot_be_read_hide_no_other_project(
    service: RestartableService, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    for _ in range(2):
        one = service.store.add_project()
        told(service, one, "http://127.0.0.1:9/", events=["experiment.decision"])
        service.store.add_experiment(one)

    def fail(_: object, experiment: Experiment, *_args: Any, **_options: Any) -> None:
        tried.append(experiment.project_id)
        raise RuntimeError("a defect")

    monkeypatch.setattr(Results, "report", fail)
    with pytest.raises(ExceptionGroup, match="2 of 2 failed"):
        announce_changed_results(service.store)
    assert len(set(tried)) == 2


def _fail(*_: object) -> None:
    raise AssertionError
