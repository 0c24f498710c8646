"""Kept answers over simulated time: those that would be computed anew, and no verdict later."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from api.results.kept_answers import EncodedAnswer
from engine.design import lifecycle
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from pipeline.jobs.deletion import remove_deleted_projects
from pipeline.store.catalog.catalog import Catalog
from tests.api.results.reads import VIEWS, Reader, data_of
from tests.builders import STARTED
from tests.examples import seed_or, trials
from tests.pipeline.simulated_days import DAY, GOALS, SimulatedDays
from tests.pipeline.working_store import a_purchase, an_exposure

LARGE_EFFECTS = Statistics(minimum_effect_percent=40)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    opened = Reader(tmp_path)
    with opened.opened():
        opened.add(goals=GOALS, statistics=LARGE_EFFECTS)
        yield opened


def verdict(answer: EncodedAnswer) -> Any:
    """What is decided, and on which days and checks; not the numbers that move with the running time."""
    data = data_of(answer)
    if not isinstance(data, dict) or "plan" not in data:
        return data if isinstance(data, list) else {**data, "as_of": None}
    decisions = data.get("decision_summaries") or data["decision_summary"]
    plan = {name: data["plan"][name] for name in ("source", "is_reached", "reached_at", "collected_visitors")}
    health = [(check["check"], check["status"]) for check in data.get("health", ())]
    return data["experiment"], decisions, plan, health, data.get("time_series")


def require_what_is_computed_anew(reader: Reader) -> None:
    """Read every view; fail for one that differs from what is computed anew, or is too old."""
    for view, queries in VIEWS.items():
        for query in queries:
            answer = reader.read(view, query)
            assert verdict(answer) == verdict(reader.compute(view, query, at=reader.now)), view
            as_of = data_of(answer).get("as_of") if isinstance(data_of(answer), dict) else None
            if as_of is not None:
                made_at = datetime.fromisoformat(as_of)
                assert made_at <= reader.now < made_at + timedelta(minutes=1)
                assert answer == reader.compute(view, query, at=made_at)


@pytest.fixture
def other(reader: Reader) -> Iterator[Catalog]:
    """Open the catalog once more, as another process does."""
    with closing(Catalog.open(reader.store.settings)) as opened:
        yield opened


def changes_of(reader: Reader, other: Catalog) -> list[Callable[[], object]]:
    """List what may happen between two reads."""
    days = SimulatedDays(reader.experiment, (0.2, 0.4))

    def arrive() -> None:
        day = (reader.now - STARTED) // DAY
        reader.store.write(reader.project, *days.arrive(day, visitors=4, received=reader.now))

    def change(**fields: Any) -> None:
        other.experiments.change(
            reader.project.id, reader.experiment.id, lambda one: replace(one, **fields), actor="other"
        )

    def change_project(**fields: Any) -> None:
        project = reader.project
        other.projects.change(
            project.account_id, project.id, lambda one: replace(one, **fields), actor="other"
        )

    return [
        arrive,
        arrive,
        lambda: None,
        lambda: None,
        lambda: None,
        lambda: change(name=f"At {reader.now}"),
        lambda: change(confidence_level=90 if reader.now.minute % 2 else 95),
        lambda: change_project(reporting_timezone="Pacific/Auckland" if reader.now.minute % 2 else None),
        lambda: change_project(settings={"revenue_currency": "EUR" if reader.now.minute % 2 else "USD"}),
        lambda: reader.store.rollup.rebuild(reader.project.id),
        lambda: reader.store.due_looks.record(
            reader.arguments(None, reader.now)["experiment"], reader.project, now=reader.now
        ),
    ]


@pytest.mark.many(seconds=20)
def test_kept_answers_are_those_that_would_be_computed_anew(reader: Reader, other: Catalog) -> None:
    steps, random = trials(2, 12), np.random.default_rng(seed_or(1))
    changes = changes_of(reader, other)
    reader.store.write(reader.project, *SimulatedDays(reader.experiment, (0.2, 0.4)).arrive(0))
    reader.now = STARTED + DAY
    for _ in range(steps):
        changes[random.integers(len(changes))]()
        require_what_is_computed_anew(reader)
        reader.go_on(seconds=int(random.choice([1, 20, 59, 61, 3600, 12 * 3600, 86400])))
    assert reader.computed < 3 * steps * sum(map(len, VIEWS.values()))


def test_an_answer_is_computed_once_and_again_after_a_minute(reader: Reader) -> None:
    reader.store.write(reader.project, an_exposure(reader.experiment))
    reader.store.rollup.refresh(reader.project.id)
    reader.go_on(days=1, hours=1)
    # Records the look of the day.
    reader.read()
    first, computed = reader.read(), reader.computed
    reader.go_on(seconds=59)
    assert (reader.read(), reader.computed) == (first, computed)
    reader.go_on(seconds=1)
    again = reader.read()
    assert reader.computed == computed + 1
    assert again.tag == first.tag
    assert data_of(again)["as_of"] > data_of(first)["as_of"]


def test_a_verdict_does_not_wait_for_the_minute_to_pass(reader: Reader) -> None:
    days = SimulatedDays(reader.experiment, (0.1, 0.6))
    for day in range(7):
        reader.store.write(reader.project, *days.arrive(day, visitors=200))
    reader.now = STARTED + 7 * DAY - timedelta(seconds=1)
    before = data_of(reader.read())
    reader.go_on(seconds=1)
    after = data_of(reader.read())
    assert not before["plan"]["is_reached"]
    assert after["plan"]["is_reached"]
    assert before["decision_summary"]["recommendation"] != "ship"
    assert after["decision_summary"]["recommendation"] == "ship"


def test_a_new_local_day_is_there_at_midnight(reader: Reader) -> None:
    reader.store.catalog.projects.change(
        reader.project.account_id,
        reader.project.id,
        lambda one: replace(one, reporting_timezone="America/New_York"),
        actor="test",
    )
    midnight = datetime.fromisoformat("2026-03-05T00:00:00-05:00")
    reader.now = midnight - timedelta(seconds=1)
    evening = data_of(reader.read("get_results_timeseries"))
    reader.now = midnight
    morning = data_of(reader.read("get_results_timeseries"))
    assert [day["date"] for day in morning] == [*(day["date"] for day in evening), "2026-03-05"]


def test_acknowledged_events_are_in_the_next_answer(reader: Reader) -> None:
    for number in range(3):
        reader.store.write(reader.project, an_exposure(reader.experiment, 1, f"v{number}"))
        reader.store.write(reader.project, a_purchase(f"v{number}"))
        for _ in range(2):
            data = data_of(reader.read("get_results_summary"))
            found = [one["visitors"] for one in data["variants"]], data["variants"][1]["conversions"]
            assert found == ([0, number + 1], number + 1)


def test_an_answer_that_lacks_events_is_not_kept(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with reader.opened(fresh_read_seconds=0.01):
        reader.add()
        reader.store.write(reader.project, an_exposure(reader.experiment))
        reader.store.rollup.refresh(reader.project.id)
        reader.store.write(reader.project, an_exposure(reader.experiment, 1, "v2"))
        with reader.store.rollup.pause():
            stale = [data_of(reader.read())["variants"]["goal_1"][1]["visitors"] for _ in range(2)]
        reader.store.rollup.refresh(reader.project.id)
        assert stale == [0, 0]
        assert data_of(reader.read())["variants"]["goal_1"][1]["visitors"] == 1


def test_a_tag_lasts_over_a_restart(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with reader.opened():
        reader.add()
        reader.store.write(reader.project, an_exposure(reader.experiment))
        before = [reader.read(view).tag for view in VIEWS]
    with reader.opened():
        assert [reader.read(view).tag for view in VIEWS] == before
    assert reader.computed == 2 * len(VIEWS)


def test_a_deleted_experiment_leaves_no_answers(reader: Reader) -> None:
    reader.store.write(reader.project, an_exposure(reader.experiment))
    reader.store.rollup.refresh(reader.project.id)
    reader.read()
    assert reader.kept.bytes_kept > 0
    store = reader.store
    store.catalog.projects.delete(reader.project.account_id, reader.project.id, actor="test")
    remove_deleted_projects(store)
    assert reader.kept.bytes_kept == 0


def test_completion_is_in_the_next_answer_and_final_results_are_kept_while_events_arrive(
    reader: Reader,
) -> None:
    reader.store.write(reader.project, an_exposure(reader.experiment))
    reader.read()
    reader.go_on(days=1)

    def complete(experiment: Experiment) -> Experiment:
        return lifecycle.complete(experiment, now=reader.now)

    reader.store.catalog.experiments.change(reader.project.id, reader.experiment.id, complete, actor="test")
    assert data_of(reader.read())["experiment"]["status"] == "completed"
    reader.go_on(hours=1)
    reader.store.rollup.refresh(reader.project.id)
    final = [reader.read() for _ in range(2)]
    computed = reader.computed
    reader.store.write(reader.project, an_exposure(reader.experiment, 1, "late", minute=3000))
    assert (reader.read(), reader.computed) == (final[-1], computed)
