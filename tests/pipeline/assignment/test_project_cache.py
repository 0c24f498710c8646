from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import pytest

from engine.design.experiment import Experiment
from engine.vocabulary import Status
from pipeline.assignment.project_cache import CachedProject, ProjectCache
from pipeline.events.project_ids import ProjectIds
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from tests.builders import NOW, a_goal, a_project, an_experiment
from tests.counted_work import counted_catalog

STATUSES: Final[Sequence[Status]] = ("draft", "running", "paused", "completed")


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog.open(Settings(data_dir=tmp_path))
    account, _, _ = opened.accounts.create("Acme", "owner@acme.example")
    opened.projects.create(a_project(account_id=account.id), actor="test")
    opened.experiments.create("prj_1", lambda _: an_experiment(status="running"), actor="test")
    yield opened
    opened.close()


def rename(catalog: Catalog, name: str) -> None:
    account_id = catalog.projects.find("prj_1").account_id
    catalog.projects.change(account_id, "prj_1", partial(replace, name=name), actor="test")


def test_a_project_comes_with_its_experiments_and_account(catalog: Catalog) -> None:
    live = ProjectCache(catalog).with_id("prj_1")
    assert live.account.name == "Acme"
    assert [experiment.id for experiment in live.experiments] == ["exp_1"]
    assert live.ids.variants == {"exp_1": {"var_0", "var_1"}}
    assert live.ids.goals == {"goal_1"}


def test_its_parts_are_counted(catalog: Catalog) -> None:
    # Two variants without changes, and one goal.
    assert ProjectCache(catalog).with_id("prj_1").parts == 2
    conditions = [{"field": "country", "operator": "in", "values": ["DE", "AT"]} for _ in range(3)]
    group = {"operator": "or", "children": conditions}
    rules = {"version": 2, "root": {"operator": "and", "children": [group]}}
    other = an_experiment(id="exp_2", test_key="other", targeting_rules=rules, status="paused")
    catalog.experiments.create("prj_1", lambda _: other, actor="test")
    assert ProjectCache(catalog).with_id("prj_1").parts == 2 + 2 + 1 + 3 + 6


def test_it_is_found_by_its_public_key(catalog: Catalog) -> None:
    assert ProjectCache(catalog).with_key("pk_shop").project.id == "prj_1"


def test_what_does_not_exist_is_not_found(catalog: Catalog) -> None:
    projects = ProjectCache(catalog)
    with pytest.raises(NotFoundError):
        projects.with_id("prj_9")
    with pytest.raises(NotFoundError):
        projects.with_key("pk_unknown")


def test_what_is_fresh_is_kept_for_a_second(catalog: Catalog) -> None:
    clock = Clock()
    projects = ProjectCache(catalog, clock)
    assert projects.fresh("id", "prj_1") is None
    live = projects.with_id("prj_1")
    clock.now += 0.9
    assert projects.fresh("id", "prj_1") is live
    clock.now += 0.2
    assert projects.fresh("id", "prj_1") is None


def test_a_change_by_this_process_is_seen_at_once(catalog: Catalog) -> None:
    projects = ProjectCache(catalog, Clock())
    projects.with_id("prj_1")
    rename(catalog, "Renamed")
    assert projects.with_id("prj_1").project.name == "Renamed"


def test_a_change_by_another_process_is_seen_within_a_second(catalog: Catalog, tmp_path: Path) -> None:
    clock = Clock()
    projects = ProjectCache(catalog, clock)
    projects.with_id("prj_1")
    other = Catalog.open(Settings(data_dir=tmp_path))
    rename(other, "Renamed")
    other.close()
    clock.now += 1.0
    assert projects.with_id("prj_1").project.name == "Renamed"


def test_targeting_is_compiled_once_for_each_version_of_a_project(catalog: Catalog) -> None:
    clock = Clock()
    cache = ProjectCache(catalog, clock)
    cached = cache.with_id("prj_1")
    (experiment,) = cached.experiments
    assert cached.targeting_of(experiment) is cached.targeting_of(experiment)
    clock.now += 2
    # Looked up again, and found as it was.
    assert cache.with_id("prj_1") is cached
    rename(catalog, "Renamed")
    assert cache.with_id("prj_1").targeting_of(experiment) is not cached.targeting_of(experiment)


def save(catalog: Catalog, experiment: Experiment) -> None:
    catalog.experiments.create("prj_1", lambda _: experiment, actor="test")


def add_others(catalog: Catalog, places: range) -> None:
    """Add experiments that do not assign: drafts, and those that have ended."""
    for place in places:
        other = an_experiment(
            id=f"exp_o{place}",
            test_key=f"other-{place}",
            status="completed" if place % 2 else "draft",
            goals=(a_goal(id=f"goal_o{place}", goal_type="revenue"),),
            completed_at=NOW if place % 2 else None,
        )
        save(catalog, other)


def work_of_loads(catalog: Catalog) -> list[tuple[int, int]]:
    """Count the statements and validated documents of a first load, an idle one, and one after a change."""
    clock, works = Clock(), []
    cache = ProjectCache(catalog, clock)
    for name in (None, None, f"Renamed at {len(catalog.experiments.ids())}"):
        if name:
            catalog.experiments.change("prj_1", "exp_1", partial(replace, name=name), actor="test")
        clock.now += 2
        with counted_catalog(catalog.database) as work:
            cache.with_id("prj_1")
        works.append((work.statements, work.documents))
    return works


def test_the_work_of_a_load_follows_what_changed_and_what_assigns(catalog: Catalog) -> None:
    add_others(catalog, range(2))
    _, idle, changed = work_of_loads(catalog)
    add_others(catalog, range(2, 40))
    assert work_of_loads(catalog)[1:] == [idle, changed]
    assert idle[1] == 0
    assert changed[1] == 1


def in_status(experiment: Experiment, status: Status, traffic: int = 100) -> Experiment:
    started_at = None if status == "draft" else NOW
    completed_at = NOW if status == "completed" else None
    return replace(
        experiment,
        status=status,
        traffic_allocation=traffic,
        started_at=started_at,
        completed_at=completed_at,
    )


def content_of(cached: CachedProject) -> tuple[object, ...]:
    return (
        cached.project,
        cached.experiments,
        cached.unserved,
        cached.ids,
        cached.rules,
        cached.limited_experiments,
        cached.has_open_experiments,
        cached.parts,
    )


def test_what_is_kept_is_what_a_new_cache_reads_whoever_wrote_it(catalog: Catalog, tmp_path: Path) -> None:
    clock, random = Clock(), Random(7)  # noqa: S311 - which change comes next
    kept = ProjectCache(catalog, clock)
    add_others(catalog, range(6))
    other = Catalog.open(Settings(data_dir=tmp_path))
    for step in range(25):
        writer = random.choice([catalog, other])
        experiment_id = random.choice(sorted(catalog.experiments.ids()))
        kind = random.choice(["add", "delete", "change", "change", "change", "rename"])
        if kind == "add":
            add_others(writer, range(100 + step, 101 + step))
        elif kind == "delete" and experiment_id != "exp_1":
            writer.experiments.delete("prj_1", experiment_id, lambda _: None, actor="test")
        elif kind == "change":
            status = random.choice(STATUSES)
            change = partial(in_status, status=status, traffic=random.choice([50, 100]))
            writer.experiments.change("prj_1", experiment_id, change, actor="test")
        elif kind == "rename":
            rename(writer, f"Shop {step}")
        clock.now += 1
        assert content_of(kept.with_id("prj_1")) == content_of(ProjectCache(catalog).with_id("prj_1"))
    other.close()
    ids = ProjectIds.of(catalog.experiments.of_project("prj_1"), catalog.projects.find("prj_1"))
    assert kept.with_id("prj_1").ids == ids


def test_experiments_before_their_start_are_read_when_they_are_forced(catalog: Catalog) -> None:
    add_others(catalog, range(4))
    cached = ProjectCache(catalog).with_id("prj_1")
    # The second has ended, and the last two are unknown, and running.
    names = {"exp_o0", "other-2", "exp_o1", "unknown", "exp_1"}
    forced = cached.forced_before_start(names, catalog)
    assert [one.id for one in forced] == ["exp_o0", "exp_o2"]
    with counted_catalog(catalog.database) as work:
        assert cached.forced_before_start(names, catalog) == forced
    assert work.statements == 0


def test_one_that_starts_meanwhile_is_not_forced_by_what_was_known(catalog: Catalog) -> None:
    add_others(catalog, range(1))
    cached = ProjectCache(catalog).with_id("prj_1")
    catalog.experiments.change("prj_1", "exp_o0", partial(in_status, status="running"), actor="test")
    assert cached.forced_before_start({"exp_o0"}, catalog) == ()


def test_a_project_in_use_is_loaded_ahead_by_one_request_so_that_none_waits(catalog: Catalog) -> None:
    clock = Clock()
    projects = ProjectCache(catalog, clock)
    projects.with_id("prj_1")
    assert not projects.take_refresh("id", "prj_1")
    clock.now += 0.8
    assert projects.take_refresh("id", "prj_1")
    assert not projects.take_refresh("id", "prj_1")
    projects.refresh("id", "prj_1")
    clock.now += 0.7
    assert projects.fresh("id", "prj_1") is not None
    clock.now += 0.2
    assert projects.take_refresh("id", "prj_1")


def test_a_load_ahead_that_fails_leaves_a_project_until_it_is_too_old(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    projects = ProjectCache(catalog, clock)
    live = projects.with_key("pk_shop")
    clock.now += 0.8

    def fail(*_: object) -> None:
        raise NotFoundError("project", "prj_1")

    monkeypatch.setattr(type(catalog.projects), "by_sdk_key", fail)
    assert projects.take_refresh("key", "pk_shop")
    projects.refresh("key", "pk_shop")
    assert projects.fresh("key", "pk_shop") is live
    clock.now += 0.3
    with pytest.raises(NotFoundError):
        projects.with_key("pk_shop")
