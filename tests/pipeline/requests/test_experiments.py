import pytest

from engine.errors import InvalidDesignError
from pipeline.requests.experiments import create_draft, revise_draft
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def fields(**overrides: object) -> dict[str, object]:
    return {"name": "Checkout", "variants": [{"name": "A", "is_control": True}, {"name": "B"}], **overrides}


def test_a_draft_is_saved_with_ids_and_a_test_key_of_its_own(store: WorkingStore) -> None:
    project = store.add_project()
    first, second = (create_draft(store.catalog, project, fields(), now=NOW, actor="test") for _ in range(2))
    assert (first.status, second.test_key) == ("draft", f"{first.test_key}-2")
    assert len({first.id, second.id, *(one.id for one in (*first.variants, *second.variants))}) == 6
    assert {one.id for one in store.catalog.experiments.of_project(project.id)} == {first.id, second.id}


def test_a_revision_changes_the_given_fields_alone(store: WorkingStore) -> None:
    project = store.add_project()
    draft = create_draft(store.catalog, project, fields(), now=NOW, actor="test")
    revised = revise_draft(store.catalog, project, draft.id, {"name": "Basket"}, now=NOW, actor="test")
    assert (revised.name, revised.variants) == ("Basket", draft.variants)
    assert store.catalog.experiments.get(project.id, draft.id) == revised


def test_unknown_members_are_named_with_every_other_problem(store: WorkingStore) -> None:
    project = store.add_project()
    with pytest.raises(InvalidDesignError) as invalid:
        create_draft(
            store.catalog, project, fields(name="", assigned_user_ids=["mem_9"]), now=NOW, actor="test"
        )
    assert {problem.field for problem in invalid.value.problems} >= {"name", "assigned_user_ids[0]"}
    assert store.catalog.experiments.of_project(project.id) == []


def test_covariates_are_attributes_that_visitors_have(store: WorkingStore) -> None:
    project = store.add_project()
    known = ["pre_period", "country", "day_of_week", "custom:plan"]
    chosen = {"cuped": True, "covariates": [*known, "plan", "custom:"]}
    with pytest.raises(InvalidDesignError) as invalid:
        create_draft(store.catalog, project, fields(statistics=chosen), now=NOW, actor="test")
    paths = [f"statistics.covariates[{place}]" for place in (4, 5)]
    assert [problem.field for problem in invalid.value.problems] == paths
    assert "'plan' is none of pre_period, traffic_source," in invalid.value.problems[0].message
    statistics = {"cuped": True, "covariates": known}
    draft = create_draft(store.catalog, project, fields(statistics=statistics), now=NOW, actor="test")
    with pytest.raises(InvalidDesignError):
        revise_draft(store.catalog, project, draft.id, {"statistics": chosen}, now=NOW, actor="test")
    assert store.catalog.experiments.get(project.id, draft.id).statistics.covariates == tuple(known)
