"""Reports of a snapshot's experiments, against those of the service at the time of the snapshot."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.evidence.recorded_looks import plan_look
from engine.analysis.results.report import Report
from engine.design import lifecycle
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.ramp import Ramp, RampStep, TakenStep
from engine.frames.analyze import analyze_frame
from pipeline.jobs.jobs import JOBS
from pipeline.snapshots.manifest import SnapshotExperiment
from pipeline.snapshots.reader import Snapshot, open_snapshot
from tests.builders import STARTED, a_goal
from tests.pipeline.simulated_days import DAY, GOALS, SimulatedDays
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure

RECORD_LOOKS = next(job for job in JOBS if job.name == "record_due_looks")
# Needs about 660 visitors at a rate of 30%: eleven days of sixty.
LARGE_EFFECTS = Statistics(minimum_effect_percent=40)


@dataclass
class Service:
    """A store whose clock stands where a test sets it."""

    folder: Path
    now: datetime = STARTED
    store: WorkingStore = field(init=False)

    def live(
        self, days: SimulatedDays, project: Project, *, first: int = 0, last: int, each: int = 1
    ) -> None:
        """Let visitors arrive on each day, and record the look that is due on the evenings of some."""
        for day in range(first, last, each):
            self.now = STARTED + (day + each) * DAY
            rows = [row for one in range(day, day + each) for row in days.arrive(one)]
            self.store.write(project, *rows)
            RECORD_LOOKS.run(self.store)

    def change(self, experiment: Experiment, transition: Any) -> None:
        decide = partial(transition, now=self.now)
        self.store.catalog.experiments.change(experiment.project_id, experiment.id, decide, actor="test")

    def served(self, experiment: Experiment, project: Project) -> Report:
        current = self.store.catalog.experiments.get(project.id, experiment.id)
        return self.store.results.report(current, project, now=self.now)

    def snapshot(self, project: Project) -> Snapshot:
        self.store.rollup.refresh(project.id)
        self.store.snapshots.write(project.id)
        return open_snapshot(self.store.snapshots.folder / project.id)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    with a_working_store(tmp_path, clock=lambda: service.now) as store:
        service.store = store
        yield service


@pytest.fixture
def project(service: Service) -> Project:
    return service.store.add_project()


def report_of(snapshot: Snapshot, experiment: Experiment) -> Report:
    return analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))


def action(report: Report) -> tuple[str, str | None]:
    assert report.primary is not None
    return report.primary.decision.recommendation, report.primary.decision.reason


def judged(report: Report) -> dict[str, Any]:
    """Everything that is said of an experiment, by names: ids in a frame are of its own."""
    plan = report.plan
    return {
        "summaries": {
            one.goal.name: (
                one.decision.recommendation,
                one.decision.reason,
                one.decision.variant_name,
                one.summary.winner_variant_name,
            )
            for one in report.goals
        },
        "plan": (
            *(plan.source, plan.required_visitors, plan.collected_visitors),
            *(plan.is_reached, plan.reached_at, plan.days_left),
        ),
        "statuses": {
            one.goal.name: {variant.variant_name: variant.status for variant in one.variants}
            for one in report.goals
        },
        "alarms": [check.check for check in report.health if check.status == "alarm"],
    }


def numbers_of_plan(report: Report) -> dict[str, float | None]:
    plan, names = report.plan, {one.goal.id: one.goal.name for one in report.goals}
    return {
        "progress": plan.progress,
        "running_days": plan.running_days,
        "minimum_effect": plan.minimum_effect,
        "detectable_effect": plan.detectable_effect,
        **{names[goal]: harm for goal, harm in plan.detectable_harm.items()},
    }


def assert_notebook_agrees(service: Service, experiment: Experiment, project: Project) -> Report:
    served = service.served(experiment, project)
    found = report_of(service.snapshot(project), experiment)
    assert judged(found) == judged(served)
    assert numbers_of_plan(found) == pytest.approx(numbers_of_plan(served), rel=1e-9)
    return served


@pytest.mark.long(seconds=4)
def test_look_at_the_plan_judges_in_notebooks_after_late_events(service: Service, project: Project) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.30, 0.38), seed=4)
    service.live(days, project, last=12)
    looks = service.store.catalog.recorded_looks.of(experiment.id)
    assert plan_look(looks) is not None
    assert action(assert_notebook_agrees(service, experiment, project)) == ("ship", None)

    # Late conversions of the control undo the difference, and the record stays.
    service.now = STARTED + 15 * DAY
    losers = days.among(0, bought=False)[:40]
    service.store.write(project, *(days.buy(one, at=STARTED + 11 * DAY) for one in losers))
    served = assert_notebook_agrees(service, experiment, project)
    assert action(served) == ("ship", None)
    assert served.primary is not None
    assert served.primary.variants[1].status == "inconclusive"
    # Without the looks the same rows say something else.
    snapshot = service.snapshot(project)
    arguments = {**snapshot.analysis(experiment.id), "looks": ()}
    assert action(analyze_frame(snapshot.visitors(experiment.id), **arguments)) != ("ship", None)


@pytest.mark.long(seconds=3)
def test_pauses_before_the_plan_do_not_run(service: Service, project: Project) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.30, 0.30))
    service.live(days, project, last=3)
    service.change(experiment, lifecycle.pause)
    service.now = STARTED + 5 * DAY
    paused = assert_notebook_agrees(service, experiment, project)
    assert paused.plan.running_days == 3.0
    service.now = STARTED + 7 * DAY
    service.change(experiment, lifecycle.resume)
    service.live(days, project, first=7, last=9)
    resumed = assert_notebook_agrees(service, experiment, project)
    assert (resumed.plan.running_days, resumed.plan.is_reached) == (5.0, False)
    assert action(resumed) == ("keep_running", None)


def test_steps_of_a_ramp_count_in_notebooks_too(service: Service, project: Project) -> None:
    ramp = Ramp(steps=(RampStep(percent=5, hours=24 * 5), RampStep(percent=50)))
    taken = (TakenStep(percent=5, started_at=STARTED),)
    experiment = service.store.add_experiment(
        project, goals=GOALS, ramp=ramp, ramp_steps=taken, traffic_allocation=5
    )
    service.live(SimulatedDays(experiment, (0.3, 0.3)), project, last=3)
    served, found = service.served(experiment, project), report_of(service.snapshot(project), experiment)
    assert judged(found) == judged(served)
    assert found.plan.tuned_to == served.plan.tuned_to


def test_experiment_ended_early_is_a_hint_in_notebooks(service: Service, project: Project) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    service.live(SimulatedDays(experiment, (0.30, 0.42), seed=4), project, last=5, each=5)
    service.change(experiment, lifecycle.complete)
    service.now = STARTED + 90 * DAY
    ended = assert_notebook_agrees(service, experiment, project)
    assert action(ended) == ("review", "ended_early")
    assert ended.plan.running_days == 5.0


def test_imported_finished_test_is_finished_in_notebooks(service: Service, project: Project) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS)
    days = SimulatedDays(experiment, (0.30, 0.60))
    service.store.write(project, *days.arrive(0, visitors=400))
    service.now = STARTED + DAY
    service.store.results.report(experiment, project, now=service.now, is_finished=True)
    service.now = STARTED + 2 * DAY
    finished = assert_notebook_agrees(service, experiment, project)
    assert (finished.plan.source, finished.plan.is_reached) == ("finished", True)
    assert action(finished) == ("ship", None)


def test_settings_of_goals_and_excluded_visitors_judge_too(service: Service, project: Project) -> None:
    goals = (
        a_goal(id="bought", config={"minimum_effect_percent": 40, "event_name": "purchase"}),
        a_goal(
            id="again",
            name="Again",
            is_primary=False,
            config={"event_name": "purchase", "guardrail_margin_percent": 5, "direction": "decrease"},
        ),
    )
    experiment = service.store.add_experiment(project, goals=goals)
    service.live(SimulatedDays(experiment, (0.20, 0.50), seed=4), project, last=14, each=7)
    broken = assert_notebook_agrees(service, experiment, project)
    assert broken.plan.minimum_effect == 0.4
    assert broken.plan.detectable_harm.keys() == {"again"}
    assert action(broken) == ("review", "guardrail_broken")

    both = [f"both-{number}" for number in range(30)]
    minute = 60.0 * 24 * 13 + 500
    for variant in (0, 1):
        service.store.write(
            project, *(an_exposure(experiment, variant, who, minute=minute + variant) for who in both)
        )
    excluded = assert_notebook_agrees(service, experiment, project)
    assert action(excluded)[0] == "fix_data"


@pytest.mark.long(seconds=4)
def test_snapshots_from_before_looks_can_still_be_read(service: Service, project: Project) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    service.live(SimulatedDays(experiment, (0.30, 0.30)), project, last=6)
    snapshot = service.snapshot(project)
    path = snapshot.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    # They were not sealed either.
    del manifest["blake2b"]
    added = {"looks", "pauses"} & set(SnapshotExperiment.__dataclass_fields__)
    assert len(added) == 2
    for entry in manifest["experiments"]:
        for name in added:
            del entry[name]
        for goal in entry["goals"]:
            del goal["minimum_effect_percent"], goal["guardrail_margin_percent"]
    path.write_text(json.dumps(manifest))
    older = open_snapshot(snapshot.folder)
    assert older.analysis(experiment.id)["running"] is True
    assert action(report_of(older, experiment)) == ("keep_running", None)
