from datetime import timedelta

import numpy as np
import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.reweighting import reweight
from engine.local_days import epoch_microseconds
from tests.builders import STARTED, a_goal
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

HOUR = 60


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


def moved(store: WorkingStore, experiment: Experiment, weights: tuple[float, ...], minute: int) -> Experiment:
    return store.catalog.experiments.change(
        experiment.project_id,
        experiment.id,
        lambda one: reweight(one, weights, now=STARTED + timedelta(minutes=minute)),
        actor="test",
    )


def test_weights_that_never_changed_have_no_epochs(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    assert store.observe(experiment, project).epochs is None


def test_visitors_belong_to_the_epoch_of_their_first_exposure(store: WorkingStore, project: Project) -> None:
    experiment = moved(store, store.add_experiment(project), (3, 1), HOUR)
    store.write(
        project,
        an_exposure(experiment, 0, "before"),
        an_exposure(experiment, 0, "before", minute=90),
        an_exposure(experiment, 1, "just before", minute=HOUR - 1e-6),
        an_exposure(experiment, 1, "then", minute=HOUR),
        an_exposure(experiment, 0, "later", minute=HOUR + 10),
        an_exposure(experiment, 0, "a clock behind", minute=-5, received_at=epoch_microseconds(STARTED)),
        a_purchase("before", cents=300, minute=95),
        a_purchase("later", cents=500, minute=95),
        a_purchase("later", cents=200, minute=96),
    )
    evidence = store.observe(experiment, project)
    epochs = evidence.epochs
    assert epochs is not None
    assert epochs.started_at == (STARTED, STARTED + timedelta(hours=1))
    np.testing.assert_array_equal(epochs.weights, [[1, 1], [3, 1]])
    np.testing.assert_array_equal(epochs.visitors, [[2, 1], [1, 1]])
    # Everyone of the first epoch was assigned in it; of the second, who came ten minutes into it.
    np.testing.assert_array_equal(epochs.settled, [[2, 1], [1, 0]])
    np.testing.assert_array_equal(epochs.conversions[:, 0], [[1, 0], [1, 0]])
    np.testing.assert_allclose(epochs.revenue.mean[:, 0], [[150, 0], [700, 0]])
    np.testing.assert_allclose(epochs.revenue.m2[:, 0], [[45_000, 0], [0, 0]])
    assert evidence.visitors.tolist() == [3, 2]


def test_epochs_merge_to_the_whole_also_within_a_segment(store: WorkingStore, project: Project) -> None:
    goals = (a_goal(), a_goal(id="goal_2", name="Revenue", goal_type="revenue", is_primary=False, config={}))
    experiment = store.add_experiment(project, weights=(1, 1, 1), goals=goals)
    for number in range(1, 5):
        experiment = moved(store, experiment, (1, number + 1, 1), number * HOUR)
    rng = np.random.default_rng(1)
    rows = []
    for i in range(200):
        minute = float(rng.uniform(0, 5 * HOUR))
        device = ("mobile", "desktop")[i % 2]
        rows.append(an_exposure(experiment, int(rng.integers(3)), f"v{i}", minute=minute, device_type=device))
        if rng.random() < 0.4:
            rows.append(a_purchase(f"v{i}", cents=int(rng.integers(100, 90_000)), minute=minute + 1))
    store.write(project, *rows)
    for filters in ({}, {"device_type": "mobile"}, {"device_type": "mobile", "os": "iOS"}):
        evidence = store.observe(experiment, project, filters)
        assert evidence.epochs is not None
        assert len(evidence.epochs) == 5
        whole = evidence.epochs.revenue.sum_over(0)
        np.testing.assert_array_equal(evidence.epochs.visitors.sum(axis=0), evidence.visitors)
        np.testing.assert_array_equal(evidence.epochs.conversions.sum(axis=0), evidence.conversions)
        np.testing.assert_allclose(whole.mean, evidence.revenue.mean, rtol=1e-12)
        np.testing.assert_allclose(whole.m2, evidence.revenue.m2, rtol=1e-9)


def test_visitors_set_aside_are_in_no_epoch(store: WorkingStore, project: Project) -> None:
    experiment = moved(store, store.add_experiment(project), (3, 1), HOUR)
    store.write(
        project,
        an_exposure(experiment, 0, "both"),
        an_exposure(experiment, 1, "both", minute=90),
        an_exposure(experiment, 1, "bot", is_bot=True),
        an_exposure(experiment, 1, "one", minute=90),
    )
    evidence = store.observe(experiment, project)
    assert evidence.epochs is not None
    np.testing.assert_array_equal(evidence.epochs.visitors, [[0, 0], [0, 1]])


def test_a_variant_that_is_gone_and_a_goal_that_is_new_leave_the_others_in_place(
    store: WorkingStore, project: Project
) -> None:
    experiment = moved(store, store.add_experiment(project, weights=(1, 1, 1)), (1, 1, 2), HOUR)
    store.write(
        project,
        an_exposure(experiment, 0, "a"),
        an_exposure(experiment, 1, "b"),
        an_exposure(experiment, 2, "c", minute=90),
        a_purchase("c", minute=91),
    )
    store.rollup.refresh(project.id)
    new_goal = a_goal(id="goal_2", name="Signup", is_primary=False, config={"event_name": "signup"})
    # As an import or an older version may leave it: a rollup and the epochs still know the variant.
    changed = store.change(
        experiment, variants=(experiment.variants[0], experiment.variants[2]), goals=(new_goal, a_goal())
    )
    evidence = store.observe(changed, project)
    assert evidence.epochs is not None
    np.testing.assert_array_equal(evidence.epochs.weights, [[1, 1], [1, 2]])
    np.testing.assert_array_equal(evidence.epochs.visitors, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(evidence.epochs.conversions[:, 1], [[0, 0], [0, 1]])


def test_nothing_counted_yet_is_no_evidence_by_epoch(store: WorkingStore, project: Project) -> None:
    experiment = moved(store, store.add_experiment(project), (3, 1), HOUR)
    evidence = store.observe(experiment, project)
    assert evidence.visitors.tolist() == [0, 0]


def test_epochs_that_are_over_at_once_or_never_began_hold_whom_they_should(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project)
    # Two edits at one moment, one five minutes later, and one that takes hold for good.
    for weights, minute in (((2, 1), 60), ((3, 1), 60), ((4, 1), 65), ((5, 1), 120)):
        experiment = moved(store, experiment, weights, minute)
    for visitor, minute in (("a", 59), ("b", 60), ("c", 64), ("d", 65), ("e", 75), ("f", 129), ("g", 130)):
        store.write(project, an_exposure(experiment, 0, visitor, minute=minute))
    evidence = store.observe(experiment, project)
    assert evidence.epochs is not None
    assert evidence.epochs.visitors[:, 0].tolist() == [1, 0, 2, 2, 2]
    assert evidence.epochs.settled[:, 0].tolist() == [1, 0, 0, 1, 1]
