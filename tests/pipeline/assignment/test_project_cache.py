from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from pipeline.assignment.project_cache import ProjectCache
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from tests.builders import a_project, an_experiment


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
    other = an_experiment(id="exp_2", test_key="other", targeting_rules=rules)
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
    assert cache.with_id("prj_1").targeting_of(experiment) is not cached.targeting_of(experiment)
