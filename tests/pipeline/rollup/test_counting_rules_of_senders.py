"""A browser's events beside those of servers: each rule, in both orders, carried on and counted anew."""

from dataclasses import replace
from itertools import permutations

import pytest

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from pipeline.store.event_columns import EventRow
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

REVENUE = Goal(id="goal_r", name="Revenue", goal_type="revenue", is_primary=True)
BUYS = Goal(id="goal_b", name="Purchases", goal_type="custom_event", config={"event_name": "purchase"})


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    """Return an experiment with so many idle visitors that others are counted without a full count."""
    added = store.add_experiment(project, goals=(REVENUE, BUYS))
    idle = [an_exposure(added, 1, f"idle{number}") for number in range(100)]
    store.write(project, *idle, an_exposure(added, 0, "v1"), an_exposure(added, 0, "v2"))
    store.rollup.refresh(project.id)
    return added


def cents_after_each(
    store: WorkingStore, experiment: Experiment, project: Project, *rows: EventRow
) -> list[int]:
    """Store the rows one by one, and read the first variant's revenue after each and after a full count."""
    read = []
    for row in rows:
        store.write(project, row)
        read.append(cents(store, experiment, project))
    assert store.rollup.rebuild(project.id).drifted == ()
    assert cents(store, experiment, project) == read[-1]
    return read


def cents(store: WorkingStore, experiment: Experiment, project: Project) -> int:
    return int(store.observe(experiment, project).revenue.total[0, 0])


def test_an_order_of_a_server_replaces_one_of_another_visitors_browser(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    forged = a_purchase("v2", cents=1, transaction_id="1000", sender="browser")
    real = a_purchase("v1", cents=5000, transaction_id="1000", sender="server")
    assert cents_after_each(store, experiment, project, forged, real) == [1, 5000]


def test_an_order_of_a_server_stays_whatever_browsers_send_later(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    rows = [
        a_purchase("v1", cents=5000, transaction_id="1000", sender="server"),
        a_purchase("v2", cents=1, transaction_id="1000", sender="browser"),
        a_purchase("v2", cents=5000, transaction_id="1000", sender="browser", is_refund=True),
    ]
    assert cents_after_each(store, experiment, project, *rows) == [5000] * 3


def test_an_order_from_before_senders_were_stored_ranks_like_that_of_a_browser(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    old = a_purchase("v2", cents=70, transaction_id="1000", sender=None)
    real = a_purchase("v1", cents=5000, transaction_id="1000", sender="import")
    assert cents_after_each(store, experiment, project, old, real) == [70, 5000]


@pytest.mark.parametrize(
    "order",
    [
        (0, 1, 2),
        (2, 1, 0),
        *(pytest.param(one, marks=pytest.mark.long(seconds=2)) for one in list(permutations(range(3)))[1:5]),
    ],
)
def test_a_refund_of_a_server_replaces_that_of_a_browser(
    store: WorkingStore, project: Project, experiment: Experiment, order: tuple[int, ...]
) -> None:
    rows = [
        a_purchase("v1", cents=5000, transaction_id="1000", sender="browser"),
        a_purchase("v1", cents=4000, transaction_id="1000", sender="browser", is_refund=True),
        a_purchase("v1", cents=1500, transaction_id="1000", sender="server", is_refund=True),
    ]
    assert cents_after_each(store, experiment, project, *(rows[n] for n in order))[-1] == 3500


def test_an_order_outside_the_bounds_of_a_goal_gives_no_browser_room(
    store: WorkingStore, project: Project
) -> None:
    bounded = Goal(
        id="goal_r", name="Revenue", goal_type="revenue", is_primary=True, config={"min_cents": 200}
    )
    experiment = store.add_experiment(project, goals=(bounded,))
    rows = [
        an_exposure(experiment, 0, "v1"),
        a_purchase("v1", cents=100, transaction_id="1000", sender="server"),
        a_purchase("v1", cents=90_000, transaction_id="1000", sender="browser"),
    ]
    assert cents_after_each(store, experiment, project, *rows)[-1] == 0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_guessed_event_id_suppresses_no_event_of_a_server(
    store: WorkingStore, project: Project, experiment: Experiment, order: tuple[int, int]
) -> None:
    rows = [
        an_event("pageview", "v2", event_id="order-1000", url="https://shop.example/", sender="browser"),
        a_purchase("v1", cents=5000, event_id="order-1000", sender="server"),
    ]
    assert cents_after_each(store, experiment, project, *(rows[n] for n in order))[-1] == 5000


def test_an_exposure_of_a_server_stays_beside_one_of_a_browser_with_its_id(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    forged = an_exposure(experiment, 1, "v3", event_id="exposure-1", sender="browser")
    real = an_exposure(experiment, 0, "v4", event_id="exposure-1", sender="server")
    store.write(project, forged)
    assert store.observe(experiment, project).visitors.tolist() == [2, 101]
    store.write(project, real)
    assert store.observe(experiment, project).visitors.tolist() == [3, 100]
    assert store.rollup.rebuild(project.id).drifted == ()


def test_an_order_whose_first_report_is_outranked_counts_by_the_next(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    """The server uses the event id of the first report for something else, which frees its transaction."""
    rows = [
        a_purchase("v1", cents=100, event_id="e-1", transaction_id="1000", sender="browser"),
        a_purchase("v2", cents=700, event_id="e-2", transaction_id="1000", sender="browser"),
        an_event("pageview", "v1", event_id="e-1", url="https://shop.example/", sender="server"),
    ]
    assert cents_after_each(store, experiment, project, *rows) == [100, 100, 700]


def test_with_trusted_revenue_money_of_browsers_counts_nowhere(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        a_purchase("v1", cents=9000, sender="browser"),
        an_event("custom_event", "v1", event_name="purchase", value=90.0, sender="browser"),
        a_purchase("v2", cents=500, sender="server"),
        a_purchase("v2", cents=30, sender=None),
        a_purchase("v2", cents=200, sender="browser", is_refund=True),
    )
    assert cents(store, experiment, project) == 9000 + 9000 + 500 + 30 - 200

    project = store.catalog.projects.change(
        project.account_id,
        project.id,
        lambda one: replace(one, settings={"trusted_revenue": True}),
        actor="test",
    )
    evidence = store.observe(experiment, project)

    assert int(evidence.revenue.total[0, 0]) == 500 + 30
    # Without their money, the purchases of both visitors still count as such.
    assert evidence.conversions[:, 0].tolist() == [1, 2]
    assert evidence.revenue.total[1, 0] == 500 + 30
