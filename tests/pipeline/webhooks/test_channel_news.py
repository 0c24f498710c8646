"""News of results: each told once by the channels of its event, and in words without a visitor's data."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from engine.analysis.results.report import Report
from engine.design.analysis_settings import Statistics
from engine.design.project import Project
from pipeline.store.catalog.webhooks.announced_states import PLAN, VERDICT, StateChange
from pipeline.store.catalog.webhooks.webhook_records import Webhook
from pipeline.webhooks.channel_news import message_about, states_of
from pipeline.webhooks.webhook_messages import announce_changed_results, observed_results
from tests.builders import STARTED, a_goal, a_project
from tests.engine.analysis.report.situation import Situation
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.simulated_days import DAY, GOALS, SimulatedDays
from tests.pipeline.webhooks.told_channels import a_channel

URL = "https://hooks.slack.example/1"


def told(service: RestartableService, channel: Webhook) -> list[tuple[str, dict[str, Any]]]:
    found = service.store.catalog.deliveries.page(channel.id, per_page=200).items
    ordered = sorted(found, key=lambda one: (one.created_at, one.id))
    return [(one.type, json.loads(one.content)["data"]) for one in ordered]


def observe(service: RestartableService, at: datetime, *, times: int = 3) -> None:
    """Look at results every five minutes."""
    for number in range(times):
        service.now = at + number * timedelta(minutes=5)
        announce_changed_results(service.store)


def test_a_decision_is_told_once_and_a_restart_tells_nothing(
    service: RestartableService, project: Project
) -> None:
    service.now = STARTED
    channel = a_channel(service, project, "slack", url=URL)
    experiment = service.store.add_experiment(
        project, name="<Checkout> & co", goals=GOALS, statistics=Statistics(minimum_effect_percent=40)
    )
    days, end = SimulatedDays(experiment, (0.2, 0.4), seed=4), STARTED + 7 * DAY
    service.run_at(end, *(row for day in range(7) for row in days.arrive(day, visitors=80)), project=project)
    observe(service, end, times=2)
    service.restart()
    observe(service, end + timedelta(hours=1), times=1)
    events = [event for event, _ in told(service, channel)]
    ready = [data for event, data in told(service, channel) if event == "decision_ready"]
    assert len(ready) == 1
    assert ready[0]["title"] == "<Checkout> & co: decision ready (Ship)"
    assert ready[0]["path"] == f"/projects/{project.id}/experiments/{experiment.id}"
    assert ready[0]["paragraphs"]
    assert events.count("plan_reached_soon") <= 1


def test_broken_data_are_told_without_figures_of_visitors() -> None:
    report = Situation(visitors=[10_000, 8_000], conversions=[1_000, 800]).report()
    alarms = {one.check: one.message for one in report.health if one.status == "alarm"}
    assert states_of(report)["check:sample_ratio"] == "alarm"
    told = message_about(report, a_project(name="Shop"), StateChange("check:sample_ratio", None, "alarm"))
    assert told is not None
    assert (told.event, told.title) == ("data_broken", "Checkout button: data broken (Sample ratio)")
    assert told.paragraphs[0] == "This does not hold: Visitors are split as the weights say."
    assert not any(message in text for message in alarms.values() for text in told.paragraphs)


def test_a_change_holds_once_a_later_count_finds_it_without_new_events(
    service: RestartableService, project: Project
) -> None:
    service.now = STARTED
    channel = a_channel(service, project, "slack", url=URL, events=["verdict_changed", "decision_ready"])
    experiment = service.store.add_experiment(
        project, goals=GOALS, statistics=Statistics(minimum_effect_percent=40)
    )
    service.run_at(
        STARTED + DAY,
        *SimulatedDays(experiment, (0.3, 0.38), seed=4).arrive(0, visitors=400),
        project=project,
    )
    report = service.report(experiment, project)
    assert states_of(report)[VERDICT] == "keep_running"
    # It had said something else, and was told so.
    catalog = service.store.catalog
    seen = observed_results(report, project)
    assert seen is not None
    catalog.announced_results.note(experiment, replace(seen, states={VERDICT: "ship"}), now=service.now)
    assert [event for event, _ in told(service, channel)] == ["decision_ready"]
    observe(service, STARTED + DAY + timedelta(minutes=5), times=1)
    assert len(told(service, channel)) == 1
    observe(service, STARTED + DAY + timedelta(minutes=10), times=2)
    event, data = told(service, channel)[-1]
    assert (event, len(told(service, channel))) == ("verdict_changed", 2)
    assert data["title"] == f"{experiment.name}: Keep running, before: Ship"


def a_guarded(errors: int, *, margin: float = 10) -> Report:
    """A report of a guardrail that is to fall, with so many errors of 1,000 in the variant."""
    config = {"event_name": "error", "direction": "decrease", "guardrail_margin_percent": margin}
    guardrail = a_goal(id="goal_2", name="Errors", is_primary=False, config=config)
    return Situation(
        visitors=[400_000] * 2, conversions=[[40_000, 40_000], [40_000, errors]], goals=(a_goal(), guardrail)
    ).report()


@pytest.mark.parametrize(
    ("errors", "state"),
    [(40_000, None), (41_500, None), (42_600, "near"), (47_000, "broken"), (37_000, None)],
)
def test_a_guardrail_is_near_its_margin_where_half_of_it_is_lost_for_sure(
    errors: int, state: str | None
) -> None:
    assert states_of(a_guarded(errors)).get("guardrail:goal_2:var_b") == state


def test_few_data_and_no_margin_are_near_nothing() -> None:
    few = Situation(visitors=[400] * 2, conversions=[[40, 40], [40, 43]], goals=a_guarded(0).experiment.goals)
    assert "guardrail:goal_2:var_b" not in states_of(few.report())
    assert states_of(a_guarded(42_600, margin=0))["guardrail:goal_2:var_b"] == "broken"


def test_messages_say_what_changed_and_ends_are_not_told() -> None:
    near, broken = a_guarded(42_600), a_guarded(47_000)
    name = "guardrail:goal_2:var_b"
    project = a_project(name="Shop")
    told = message_about(near, project, StateChange(name, None, "near"))
    assert told is not None
    assert (told.event, told.title) == (
        "guardrail_near_margin",
        "Checkout button: guardrail Errors near its margin",
    )
    assert told.paragraphs == ["'B' has changed Errors by +6.5%, and +10.0% is its margin."]
    worse = message_about(broken, project, StateChange(name, "near", "broken"))
    assert worse is not None
    assert worse.event == "guardrail_broken"
    assert worse.paragraphs[0].startswith("'B' breaks the guardrail Errors: ")
    silent = [
        (near, StateChange(name, "broken", "near")),
        (near, StateChange(name, "near", None)),
        (near, StateChange("check:bots", "alarm", None)),
        (near, StateChange(VERDICT, "ship", "fix_data")),
    ]
    assert [message_about(report, project, change) for report, change in silent] == [None] * 4


def test_a_plan_is_reached_soon_within_a_week_of_a_running_test() -> None:
    for visitors, day, status, is_soon in (
        (14_500, 30, "running", True),
        (14_500, 30, "completed", False),
        (300, 10, "running", False),
    ):
        report = Situation(
            visitors=[visitors] * 2, conversions=[visitors // 10] * 2, day=day, status=status
        ).report()
        days = report.plan.days_left
        assert (PLAN in states_of(report)) == is_soon, days
        if is_soon:
            told = message_about(report, a_project(name="Shop"), StateChange(PLAN, None, "soon"))
            assert told is not None
            assert told.title == f"Checkout button: plan reached in about {days} days"
