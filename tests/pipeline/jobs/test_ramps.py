"""Ramps: the job that takes their steps and acts on harm, over a real store."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from engine.analysis.automation import ramp_findings
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.ramp import Ramp, RampStep, TakenStep
from pipeline.encryption_key import open_cipher
from pipeline.jobs.ramps import guide_ramps
from pipeline.webhooks.channel_requests import ChannelRules, draft_channel
from tests.builders import STARTED, a_goal
from tests.pipeline.jobs.test_lifecycle import a_winner_among
from tests.pipeline.working_store import WorkingStore, an_exposure, now_of

_DAY = timedelta(days=1)
_STEPS = (RampStep(percent=5, hours=24), RampStep(percent=50, hours=24), RampStep(percent=100))


def ramped(store: WorkingStore, project: Project, on_harm: Any = "rollback", **fields: Any) -> Experiment:
    return store.add_experiment(
        project,
        ramp=Ramp(steps=_STEPS, on_harm=on_harm),
        ramp_steps=(TakenStep(percent=5, started_at=STARTED),),
        traffic_allocation=5,
        **fields,
    )


def guide(store: WorkingStore, days: float) -> None:
    guide_ramps(store.catalog, store.results, store.ramp_findings, now=STARTED + days * _DAY)


def test_traffic_grows_in_time_and_each_step_is_audited_and_announced_once(
    store: WorkingStore, project: Project
) -> None:
    experiment, plain = ramped(store, project), store.add_experiment(project)
    store.write(project, *(an_exposure(experiment, arm, f"{arm}-{i}") for arm in (0, 1) for i in range(50)))
    seen = []
    for days in (0.9, 1.0, 1.1, 1.9, 2.0, 2.1, 9.0):
        guide(store, days)
        seen.append(now_of(store, experiment).traffic_allocation)
    assert seen == [5, 50, 50, 50, 100, 100, 100]
    assert now_of(store, plain) == plain
    steps = [one for one in store.catalog.audit.of(experiment.id) if one.actor == "guarded ramp"]
    assert [one.changes["traffic_allocation"] for one in steps] == [[5, 50], [50, 100]]


def test_harm_ends_the_experiment_and_is_recorded(store: WorkingStore, project: Project) -> None:
    experiment, told = ramped(store, project), ramped(store, project, "tell")
    for one in (experiment, told):
        store.write(project, *a_winner_among(one, buyers=(160, 40)))
    for days in (0.5, 0.6):
        guide(store, days)
    ended = now_of(store, experiment)
    assert (ended.status, ended.completed_at) == ("completed", STARTED + 0.5 * _DAY)
    assert ended.conclusion is not None
    assert (ended.conclusion.decision, ended.traffic_allocation) == ("keep_control", 5)
    assert store.catalog.audit.of(experiment.id)[-1].actor == f"guarded ramp: {experiment.goals[0].id}"
    (look,) = store.catalog.recorded_looks.of(experiment.id)
    assert look.comparisons[experiment.goals[0].id]["var_1"].loses
    assert now_of(store, told).status == "running"
    assert [one.action for one in now_of(store, told).ramp_harm] == ["tell"]


def test_a_broken_guardrail_is_harm_though_the_primary_goal_wins(
    store: WorkingStore, project: Project
) -> None:
    goals = (
        a_goal(config={"event_name": "signup"}),
        a_goal(
            id="goal_2",
            name="Purchase",
            is_primary=False,
            config={"event_name": "purchase", "guardrail_margin_percent": 2},
        ),
    )
    experiment = ramped(store, project, "pause", goals=goals)
    store.write(project, *a_winner_among(experiment, buyers=(160, 40)))
    guide(store, 0.5)
    paused = now_of(store, experiment)
    assert (paused.status, paused.ramp_harm[0].findings) == ("paused", ("goal_2",))


def test_a_data_alarm_holds_the_traffic_and_is_told(store: WorkingStore, project: Project) -> None:
    experiment = ramped(store, project)
    arms = (0, *[1] * 4)
    store.write(
        project,
        *(an_exposure(experiment, arm, f"{n}-{i}") for n, arm in enumerate(arms) for i in range(300)),
    )
    for days in (1.0, 1.1, 3.0):
        guide(store, days)
    held = now_of(store, experiment)
    assert (held.status, held.traffic_allocation) == ("running", 5)
    (alarm,) = held.ramp_harm
    assert alarm.action == "tell"
    assert "sample_ratio" in alarm.findings
    assert "The check “Sample ratio” alarms." in alarm.message


def test_an_experiment_that_was_changed_meanwhile_is_left_to_the_next_run(
    store: WorkingStore, project: Project, monkeypatch: Any
) -> None:
    experiment = ramped(store, project)
    store.write(project, *a_winner_among(experiment, buyers=(160, 40)))
    report = store.results.report

    def report_after_a_change(*args: Any, **named: Any) -> Any:
        store.catalog.experiments.change(
            project.id, experiment.id, lambda it: replace(it, name="Renamed"), actor="somebody"
        )
        return report(*args, **named)

    monkeypatch.setattr(store.results, "report", report_after_a_change)
    guide(store, 0.5)
    assert now_of(store, experiment).status == "running"
    monkeypatch.undo()
    guide(store, 0.6)
    assert now_of(store, experiment).status == "completed"


def test_an_experiment_is_analyzed_again_only_after_something_changed(
    store: WorkingStore, project: Project, monkeypatch: Any
) -> None:
    experiment, other = ramped(store, project), store.add_experiment(project)
    analyzed, find = [], ramp_findings.ramp_findings

    def find_counted(one: Experiment, *args: Any, **named: Any) -> Any:
        analyzed.append(one.id)
        return find(one, *args, **named)

    monkeypatch.setattr(ramp_findings, "ramp_findings", find_counted)

    def analyses(hours: float) -> int:
        before = len(analyzed)
        guide(store, hours / 24)
        return len(analyzed) - before

    store.write(project, *(an_exposure(experiment, arm, f"{arm}-{i}") for arm in (0, 1) for i in range(50)))
    assert [analyses(hours) for hours in (1, 1.1, 2)] == [1, 0, 0]
    # An event that is of another experiment changes nothing here.
    store.write(project, an_exposure(other))
    assert analyses(2.1) == 0
    store.write(project, an_exposure(experiment, 1, "new"))
    assert [analyses(hours) for hours in (2.2, 2.3)] == [1, 0]
    store.change(experiment, name="Renamed")
    assert [analyses(hours) for hours in (2.4, 2.5)] == [1, 0]
    # A step is taken in time all the same, by what was found before; it changes the experiment.
    assert [analyses(hours) for hours in (24, 24.1, 24.2)] == [1, 1, 0]
    assert now_of(store, experiment).traffic_allocation == 50


def test_people_are_told_of_harm_and_of_no_alarm(store: WorkingStore, project: Project) -> None:
    members = store.catalog.members.accepted(project.account_id)
    rules = ChannelRules(store.settings, open_cipher(store.settings), members)
    given = {"kind": "slack", "url": "https://hooks.slack.com/services/T1/B1/secret"}
    drafted = draft_channel(rules, project.id, given, now=STARTED)
    channel = store.catalog.notification_channels.create(drafted, actor="test")
    harmed, alarmed = ramped(store, project), ramped(store, project)
    store.write(project, *a_winner_among(harmed, buyers=(160, 40)))
    lost = (an_exposure(alarmed, int(i > 300), f"lost-{i}") for i in range(1_500))
    store.write(project, *lost)
    for days in (1.0, 1.1):
        guide(store, days)
    assert now_of(store, alarmed).ramp_harm[0].action == "tell"
    (told,) = store.catalog.deliveries.page(channel.id, per_page=10).items
    message = json.loads(told.content)["data"]
    assert (told.type, message["experiment_id"]) == ("ramp_harm", harmed.id)
    assert message["title"] == f"{harmed.name}: ended by its ramp, as a variant does harm"
    assert message["paragraphs"] == [
        "'Treatment 1' harms 'Purchase', the primary goal, by what holds at every look."
    ]
