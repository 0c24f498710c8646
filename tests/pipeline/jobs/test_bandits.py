"""Bandits that really move: a catalog, a warehouse, and visitors assigned by the weights of their moment."""

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.analysis.automation.bandit_weights import VISITORS_PER_VARIANT
from engine.design import lifecycle
from engine.design.assignment import assign
from engine.design.drafting import revise_experiment
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.stats.stratification import FLOOR
from pipeline.jobs.bandits import move_weights
from pipeline.jobs.jobs import JOBS
from pipeline.results.results import Results
from pipeline.store.catalog.ids import new_id
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure, now_of

HOUR = timedelta(hours=1)
RATES = (0.10, 0.30)


def a_bandit(store: WorkingStore, project: Project, **fields: Any) -> Experiment:
    """Add a bandit, of which each run assigns the same variants."""
    return store.add_experiment(project, **{"traffic_strategy": "bandit", "salt": "bandit", **fields})


def visit(
    store: WorkingStore,
    project: Project,
    experiment: Experiment,
    *,
    hour: int,
    count: int,
    rates: Any = RATES,
) -> None:
    """Let new visitors come in the course of an hour, each assigned by the weights as they are."""
    rng = np.random.default_rng(hour)
    rows = []
    for i in range(count):
        visitor, minute = f"{experiment.salt}-{hour}-{i}", 60 * hour + 15 + 40 * i / count
        variant = assign(experiment, visitor).variant
        assert variant is not None
        arm = experiment.variants.index(variant)
        rows.append(an_exposure(experiment, arm, visitor, minute=minute))
        if rng.random() < rates[arm]:
            rows.append(a_purchase(visitor, minute=minute + 1))
    store.write(project, *rows)


def steer(store: WorkingStore, *, hour: int) -> None:
    for project in store.catalog.projects.all():
        move_weights(store.catalog, store.results, project, clock=lambda: STARTED + hour * HOUR)


def weights_of(experiment: Experiment) -> list[float]:
    return [variant.weight for variant in experiment.variants]


def test_traffic_goes_to_what_is_better_and_each_move_is_on_record(
    store: WorkingStore, project: Project
) -> None:
    experiment = a_bandit(store, project)
    for hour in range(3):
        visit(store, project, experiment, hour=hour, count=1200)
        steer(store, hour=hour + 1)
        experiment = now_of(store, experiment)
    assert weights_of(experiment) == pytest.approx([FLOOR / 2, 1 - FLOOR / 2], abs=1e-3)
    # From an even split to the floor in one move, and then it would hardly move.
    assert [epoch.started_at for epoch in experiment.weight_epochs] == [STARTED, STARTED + HOUR]
    entry = store.catalog.audit.of(experiment.id)[-1]
    assert entry.actor == "bandit: var_1 is best with a chance of 100.0%"
    assert set(entry.changes) == {"variants", "weight_epochs", "updated_at"}
    evidence = store.observe(experiment, project, now=STARTED + 3 * HOUR)
    assert evidence.epochs is not None
    first, second = evidence.epochs.visitors
    assert first.sum() == 1200
    assert second.sum() == 2400
    assert second[0] / 2400 == pytest.approx(FLOOR / 2, abs=0.02)


def test_health_holds_each_epoch_against_its_own_weights(store: WorkingStore, project: Project) -> None:
    experiment = a_bandit(store, project)
    for hour in range(2):
        visit(store, project, experiment, hour=hour, count=1200)
        steer(store, hour=hour + 1)
        experiment = now_of(store, experiment)
    report = store.results.report(experiment, project, now=STARTED + 2 * HOUR)
    check = next(one for one in report.health if one.check == "sample_ratio")
    assert check.status == "ok"
    assert len(check.details["epochs"]) == 2


def test_weights_stay_while_too_few_came_under_them(store: WorkingStore, project: Project) -> None:
    experiment = a_bandit(store, project)
    visit(store, project, experiment, hour=0, count=2 * VISITORS_PER_VARIANT - 1)
    steer(store, hour=1)
    assert now_of(store, experiment) == experiment


@pytest.mark.parametrize(
    "fields",
    [{"status": "paused"}, {"status": "completed"}, {"traffic_strategy": "fixed"}, {"weights": (0, 1)}],
    ids=["paused", "completed", "fixed", "all weight on one arm"],
)
def test_what_is_not_to_move_stays(store: WorkingStore, project: Project, fields: dict[str, Any]) -> None:
    running = a_bandit(store, project)
    visit(store, project, running, hour=0, count=1200)
    given = {"weights": (1, 1), "status": "running", "traffic_strategy": "bandit", **fields}
    changes: dict[str, Any] = {key: value for key, value in given.items() if key != "weights"}
    if given["status"] == "completed":
        changes["completed_at"] = STARTED + 2 * HOUR
    changed = store.change(running, **changes)
    if fields.get("weights"):
        variants = [{"id": one.id, "weight": w} for one, w in zip(changed.variants, (0, 1), strict=True)]
        paused = store.change(changed, status="paused")
        revised = revise_experiment(paused, {"variants": variants}, now=STARTED + HOUR, new_id=new_id)
        changed = store.change(paused, variants=revised.variants, status="running")
    steer(store, hour=3)
    assert now_of(store, changed) == changed


def test_an_experiment_of_another_project_is_not_touched(store: WorkingStore, project: Project) -> None:
    mine, other_project = a_bandit(store, project), store.add_project()
    theirs, fixed = a_bandit(store, other_project), store.add_experiment(project)
    visit(store, project, mine, hour=0, count=1200)
    steer(store, hour=1)
    assert len(now_of(store, mine).weight_epochs) == 2
    assert now_of(store, theirs) == theirs
    assert now_of(store, fixed) == fixed


def test_of_jobs_that_race_one_moves(store: WorkingStore, project: Project) -> None:
    experiment = a_bandit(store, project)
    visit(store, project, experiment, hour=0, count=1200)
    store.rollup.refresh(project.id)
    together = threading.Barrier(4)

    def race() -> None:
        together.wait()
        steer(store, hour=1)

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(now_of(store, experiment).weight_epochs) == 2
    assert len(store.catalog.audit.of(experiment.id)) == 2


class _Meanwhile(Results):
    """Results during whose reading something else happens."""

    def __init__(self, store: WorkingStore, happens: Any) -> None:
        self._store, self._happens = store, happens

    def evidence(self, *args: Any, **kwargs: Any) -> Any:
        evidence = self._store.results.evidence(*args, **kwargs)
        self._happens()
        return evidence


def test_an_edit_during_the_judging_loses_nothing(store: WorkingStore, project: Project) -> None:
    experiment = a_bandit(store, project)
    visit(store, project, experiment, hour=0, count=1200)

    def edit() -> None:
        store.change(experiment, hypothesis="Edited meanwhile")

    clock = lambda: STARTED + HOUR  # noqa: E731  # a clock that stands still
    move_weights(store.catalog, _Meanwhile(store, edit), project, clock=clock)
    edited = now_of(store, experiment)
    assert edited.hypothesis == "Edited meanwhile"
    assert edited.weight_epochs == ()
    steer(store, hour=1)
    assert now_of(store, experiment).hypothesis == "Edited meanwhile"
    assert len(now_of(store, experiment).weight_epochs) == 2


def test_an_experiment_that_is_paused_or_gone_by_then_is_left_alone(
    store: WorkingStore, project: Project
) -> None:
    experiment = a_bandit(store, project)
    visit(store, project, experiment, hour=0, count=1200)
    pause = partial(lifecycle.pause, now=STARTED + HOUR)

    def stop() -> None:
        store.catalog.experiments.change(project.id, experiment.id, pause, actor="test")

    move_weights(store.catalog, _Meanwhile(store, stop), project, clock=lambda: STARTED + HOUR)
    assert now_of(store, experiment).weight_epochs == ()


def test_a_process_that_dies_before_the_save_leaves_the_old_weights_and_the_next_one_moves(
    tmp_path: Path,
) -> None:
    class Killed(BaseException):
        pass

    calls = iter(range(10))

    def dying() -> datetime:
        # The second time it is asked, the change is decided and not yet saved.
        if next(calls) == 1:
            raise Killed
        return STARTED + HOUR

    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = a_bandit(store, project)
        visit(store, project, experiment, hour=0, count=1200)
        with pytest.raises(Killed):
            move_weights(store.catalog, store.results, project, clock=dying)
        assert now_of(store, experiment) == experiment
    with a_working_store(tmp_path) as again:
        assert now_of(again, experiment) == experiment
        steer(again, hour=1)
        assert len(now_of(again, experiment).weight_epochs) == 2
        steer(again, hour=2)
        assert len(now_of(again, experiment).weight_epochs) == 2


def test_the_job_is_scheduled_by_its_setting(store: WorkingStore, project: Project) -> None:
    experiment = a_bandit(store, project)
    visit(store, project, experiment, hour=0, count=1200)
    job = next(one for one in JOBS if one.name == "move_bandit_weights")
    job.run(replace(store, clock=lambda: STARTED + HOUR))
    assert len(now_of(store, experiment).weight_epochs) == 2


def test_an_experiment_that_cannot_be_judged_keeps_no_other_waiting(
    store: WorkingStore, project: Project
) -> None:
    broken, sound = a_bandit(store, project), a_bandit(store, project)
    for experiment in (broken, sound):
        visit(store, project, experiment, hour=0, count=1200)
    store.rollup.refresh(project.id)
    with store.warehouse.cursor() as cursor:
        # As a damaged file would.
        cursor.execute(f'DROP TABLE "aggregates_{broken.id}"')
    with pytest.raises(ExceptionGroup) as caught:
        steer(store, hour=1)
    assert caught.value.exceptions[0].__notes__ == [f"experiment {broken.id}"]
    assert len(now_of(store, sound).weight_epochs) == 2


@pytest.mark.long(seconds=4)
def test_twenty_variants_move_together(store: WorkingStore, project: Project) -> None:
    experiment = a_bandit(store, project, weights=[1] * 20)
    visit(store, project, experiment, hour=0, count=11_000, rates=[0.1] * 19 + [0.4])
    steer(store, hour=1)
    moved = weights_of(now_of(store, experiment))
    assert min(moved) >= FLOOR / 20 - 1e-6
    assert moved[19] == pytest.approx(1 - FLOOR * 19 / 20, abs=1e-3)
