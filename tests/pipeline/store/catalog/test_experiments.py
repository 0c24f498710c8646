from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from engine.design import lifecycle
from engine.design.experiment import Experiment, StopConditions, UrlRule
from engine.design.variants import Change, Variant
from engine.errors import InvalidDesignError, TransitionError
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.experiments import ProjectContent
from pipeline.store.catalog.ids import new_id
from tests.builders import NOW, an_experiment


def saved(catalog: Catalog, project_id: str, **overrides: Any) -> Experiment:
    id_ = new_id("exp")
    defaults = {"id": id_, "project_id": project_id, "test_key": id_.replace("_", "-")}
    experiment = an_experiment(**{**defaults, **overrides})
    return catalog.experiments.create(project_id, lambda _: experiment, actor="test")


def test_experiment_comes_back_as_it_went_in(catalog: Catalog, project_id: str) -> None:
    change = Change(id="chg_1", selector="h1", action="modify_text", value="Hé 🎉")
    variants = (
        Variant(id="var_0", name="Control", is_control=True),
        Variant(id="var_1", name="Treatment", weight=2.5, changes=(change,)),
    )
    experiment = saved(
        catalog,
        project_id,
        variants=variants,
        url_rules=(UrlRule(type="exclude", match_type="contains", value="/admin"),),
        stop_conditions=StopConditions(visitor_limit=1000),
        scheduled_end_at=datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=UTC),
    )
    assert catalog.experiments.get(project_id, experiment.id) == experiment


def test_draft_learns_which_test_keys_are_taken(catalog: Catalog, project_id: str) -> None:
    saved(catalog, project_id, test_key="first")
    seen: list[object] = []

    def build(content: ProjectContent) -> Experiment:
        seen.append(content.test_keys)
        return an_experiment(id=new_id("exp"), project_id=project_id, test_key="second")

    catalog.experiments.create(project_id, build, actor="test")
    assert seen == [{"first"}]


def test_test_key_of_another_experiment_cannot_be_taken(catalog: Catalog, project_id: str) -> None:
    saved(catalog, project_id, test_key="first")
    second = saved(catalog, project_id, test_key="second")
    with pytest.raises(InvalidDesignError, match="another experiment's"):
        catalog.experiments.change(
            project_id, second.id, lambda found: replace(found, test_key="first"), actor="test"
        )


def test_experiment_of_another_project_is_not_found(catalog: Catalog, project_id: str) -> None:
    experiment = saved(catalog, project_id)
    with pytest.raises(NotFoundError):
        catalog.experiments.get("prj_other", experiment.id)
    with pytest.raises(NotFoundError):
        catalog.experiments.change("prj_other", experiment.id, lambda found: found, actor="test")


def test_experiment_needs_its_project(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError):
        saved(catalog, "prj_nowhere")


def test_jobs_see_a_projects_experiments_oldest_first(catalog: Catalog, project_id: str) -> None:
    later = saved(catalog, project_id, created_at=NOW)
    earlier = saved(catalog, project_id, created_at=NOW - timedelta(days=1), status="running")
    of_project = catalog.experiments.of_project
    assert [found.id for found in of_project(project_id)] == [earlier.id, later.id]
    assert [found.id for found in of_project(project_id, ["running"])] == [earlier.id]


def test_running_experiments_are_counted_by_project(catalog: Catalog, project_id: str) -> None:
    saved(catalog, project_id, status="running")
    saved(catalog, project_id, status="paused")
    assert catalog.experiments.running_counts([project_id, "prj_other"]) == {project_id: 1, "prj_other": 0}


def test_change_is_saved_and_audited(catalog: Catalog, project_id: str) -> None:
    experiment = saved(catalog, project_id)
    started = catalog.experiments.change(
        project_id, experiment.id, partial(lifecycle.start, now=NOW), actor="key_1"
    )
    assert catalog.experiments.get(project_id, experiment.id) == started
    created, changed = catalog.audit.of(experiment.id)
    assert created.changes["status"] == [None, "draft"]
    assert changed.actor == "key_1"
    assert changed.changes == {
        "status": ["draft", "running"],
        "started_at": [None, "2026-03-02T12:00:00Z"],
        "updated_at": ["2026-03-01T09:00:00Z", "2026-03-02T12:00:00Z"],
    }


def test_refused_change_leaves_no_trace(catalog: Catalog, project_id: str) -> None:
    experiment = saved(catalog, project_id)
    with pytest.raises(TransitionError):
        catalog.experiments.change(
            project_id, experiment.id, partial(lifecycle.pause, now=NOW), actor="key_1"
        )
    assert catalog.experiments.get(project_id, experiment.id) == experiment
    assert len(catalog.audit.of(experiment.id)) == 1


def test_of_callers_racing_to_start_one_draft_one_wins(catalog: Catalog, project_id: str) -> None:
    callers = 8
    experiment = saved(catalog, project_id)
    together = Barrier(callers)

    def start(caller: int) -> str:
        together.wait()
        try:
            catalog.experiments.change(
                project_id, experiment.id, partial(lifecycle.start, now=NOW), actor=f"key_{caller}"
            )
        except TransitionError as error:
            return error.code
        return "started"

    with ThreadPoolExecutor(callers) as pool:
        outcomes = sorted(pool.map(start, range(callers)))
    assert outcomes == ["invalid_transition"] * (callers - 1) + ["started"]
    assert len(catalog.audit.of(experiment.id)) == 2
