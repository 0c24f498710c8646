"""Lists of experiments, and the verdicts that they show: found, sorted and counted in the catalog."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from engine.analysis.results.kept_verdict import KeptVerdict
from engine.vocabulary import Status
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.experiment_listings import SORTS, Wanted
from tests.builders import NOW, a_goal
from tests.engine.analysis.results.test_kept_verdict import seen
from tests.pipeline.store.catalog.test_experiments import saved

STATUSES: tuple[Status, ...] = ("draft", "running", "completed")


@pytest.fixture
def ids(catalog: Catalog, project_id: str) -> dict[str, str]:
    """Experiments by name, of which two have a verdict."""
    goals = (a_goal(name="Wallet ÖFFNEN"),)
    found = {
        "A green button": saved(catalog, project_id, name="A green button", status="running", tags=("Shop",)),
        "b 100% red": saved(catalog, project_id, name="b 100% red", assigned_user_ids=("mem_1", "mem_2")),
        "C": saved(catalog, project_id, name="C", status="completed", tags=("shop floor", "x"), goals=goals),
    }
    for hours, one in enumerate(found.values()):
        decide = partial(replace, updated_at=NOW + timedelta(hours=hours))
        catalog.experiments.change(project_id, one.id, decide, actor="test")
    catalog.kept_verdicts.keep(found["A green button"].id, seen((500, 700)))
    catalog.kept_verdicts.keep(found["C"].id, seen((400, 700), (4_000, 6_000)))
    return {name: one.id for name, one in found.items()}


def names(catalog: Catalog, project_id: str, **wanted: Any) -> Sequence[str]:
    asked = Wanted(**{"project_ids": [project_id], "statuses": STATUSES, **wanted})
    found = catalog.experiment_listings.experiments(asked)
    assert found.total == len(found.items)
    told = catalog.experiment_listings.verdicts(asked).items
    assert [one.experiment.name for one in told] == [one.name for one in found.items]
    return [one.name for one in found.items]


@pytest.mark.usefixtures("ids")
def test_experiments_are_found_by_all_that_is_asked_for(catalog: Catalog, project_id: str) -> None:
    def found(**wanted: Any) -> Sequence[str]:
        return names(catalog, project_id, **wanted)

    assert found() == ["C", "b 100% red", "A green button"]
    assert found(statuses=["running"]) == ["A green button"]
    assert found(search="GREEN butt") == ["A green button"]
    assert found(search="button green") == ["A green button"]
    assert found(search="wallet öffnen") == ["C"]
    assert found(search="00% r") == ["b 100% red"]
    assert found(search="shop") == ["C", "A green button"]
    assert found(tag="Shop") == found(tag="shop") == ["A green button"]
    assert found(tag="shop floor") == ["C"]
    assert found(tag="floor") == found(tag="%") == []
    assert found(owner="mem_1") == ["b 100% red"]
    assert found(owner="mem_2") == []
    assert found(verdict="ship") == ["A green button"]
    assert found(verdict="ship", search="wallet") == []
    assert found(project_ids=["prj_other"]) == []


@pytest.mark.usefixtures("ids")
def test_lists_are_sorted_both_ways_with_absent_values_last(catalog: Catalog, project_id: str) -> None:
    expected = {
        "name": ["A green button", "b 100% red", "C"],
        "verdict": ["A green button", "C", "b 100% red"],
    }
    for sort, wanted in expected.items():
        assert names(catalog, project_id, sort=sort) == wanted
    assert names(catalog, project_id, sort="-name") == expected["name"][::-1]
    for sort in ("improvement", "-improvement", "visitors", "-progress", "-since"):
        assert names(catalog, project_id, sort=sort)[-1] == "b 100% red", sort
    assert all(
        len(names(catalog, project_id, sort=f"{way}{sort}")) == 3 for sort in SORTS for way in ("", "-")
    )


def test_pages_have_the_total_of_all(catalog: Catalog, project_id: str, ids: dict[str, str]) -> None:
    wanted = Wanted(project_ids=[project_id], statuses=STATUSES, sort="name")
    second = catalog.experiment_listings.experiments(wanted, page=2, per_page=2)
    assert ([one.id for one in second.items], second.total) == ([ids["C"]], 3)
    counts = catalog.experiment_listings.counts(project_id)
    assert counts == {("running", "ship"): 1, ("draft", None): 1, ("completed", "fix_data"): 1}
    assert catalog.experiment_listings.found_by(project_id) == (["mem_1"], ["Shop", "shop floor", "x"])


def test_verdicts_go_with_their_experiment(catalog: Catalog, project_id: str, ids: dict[str, str]) -> None:
    (listed,) = catalog.experiment_listings.verdicts(
        Wanted(project_ids=[project_id], statuses=["running"])
    ).items
    assert listed.kept == catalog.kept_verdicts.find(ids["A green button"])
    assert isinstance(listed.kept, KeptVerdict)
    assert catalog.kept_verdicts.experiment_ids() == {ids["A green button"], ids["C"]}
    catalog.experiments.delete(project_id, ids["C"], lambda _: None, actor="test")
    catalog.kept_verdicts.keep(ids["C"], listed.kept)
    assert catalog.kept_verdicts.experiment_ids() == {ids["A green button"]}
    assert catalog.kept_verdicts.find(ids["C"]) is None
    assert names(catalog, project_id) == ["b 100% red", "A green button"]


def test_experiments_are_found_by_their_names_alone(
    catalog: Catalog, project_id: str, ids: dict[str, str]
) -> None:
    def found(text: str) -> list[str]:
        return [one.name for one in catalog.experiment_listings.named([project_id], text)]

    assert found(ids["C"]) == found("c") == ["C"]
    assert found("BUTTON green") == ["A green button"]
    assert found("100%") == ["b 100% red"]
    # Goals and tags are no names.
    assert found("wallet") == found("shop") == found("") == found("c " * 200) == []
    assert catalog.experiment_listings.named([], "C") == []
