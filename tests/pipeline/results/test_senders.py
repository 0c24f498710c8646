"""Evidence of senders, from stored events; the same carried on and counted anew."""

import pytest

from engine.analysis.evidence.senders import AddressCount, Overdrawn, SenderEvidence
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from pipeline.results.senders import sender_names
from pipeline.store.warehouse import extremes
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

REVENUE = Goal(id="goal_r", name="Revenue", goal_type="revenue", is_primary=True)


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    """Return an experiment with 100 visitors of a server, one a minute, and 20 at one browser's address."""
    added = store.add_experiment(project, goals=(REVENUE,))
    by_server = [an_exposure(added, n % 2, f"s{n}", minute=n, sender="server") for n in range(100)]
    by_browser = [
        an_exposure(added, n % 2, f"b{n}", minute=7, sender="browser", address_key=2**63 + n // 20)
        for n in range(25)
    ]
    store.write(project, *by_server, *by_browser)
    store.rollup.refresh(project.id)
    return added


def senders_of(store: WorkingStore, experiment: Experiment, project: Project) -> SenderEvidence:
    """Read the senders, and require the same of a full count."""
    found = store.observe(experiment, project).senders
    store.rollup.rebuild(project.id)
    assert store.observe(experiment, project).senders == found
    assert found is not None
    return found


def test_visitors_are_told_apart_by_sender_minute_and_address(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    found = senders_of(store, experiment, project)
    assert found.visitors == {"browser": 25, "server": 100}
    assert found.busiest_address == AddressCount("browser", 20)
    assert {peak.sender: (peak.visitors, peak.average, peak.minutes) for peak in found.peaks} == {
        "browser": (25, 25.0, 1),
        "server": (1, 1.0, 100),
    }


def test_a_later_visitor_of_the_address_is_counted_with_the_others(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, 0, "late", sender="browser", address_key=2**63))
    assert senders_of(store, experiment, project).busiest_address == AddressCount("browser", 21)


def test_senders_of_money_are_known_for_refunds_above_orders_and_for_the_largest_revenue(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        a_purchase("s0", cents=900, minute=200, sender="server"),
        a_purchase("s2", cents=500, minute=200, sender="server"),
        a_purchase("s2", cents=800, minute=201, sender="browser", is_refund=True),
        a_purchase("b1", cents=70, minute=201, sender="browser", is_refund=True),
        a_purchase("b3", cents=50, minute=201, sender="browser"),
    )
    found = senders_of(store, experiment, project)
    assert set(found.overdrawn) == {
        Overdrawn(0, 0, "browser and server", 1, -300),
        Overdrawn(0, 1, "browser", 1, -70),
    }
    assert found.largest == {(0, 0): "server", (0, 1): "browser"}


def test_addresses_of_many_visitors_are_counted_in_parts(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.observe(experiment, project).senders
    monkeypatch.setattr(extremes, "_ADDRESSES_AT_ONCE", 30)
    store.rollup.rebuild(project.id)
    assert store.observe(experiment, project).senders == before


def test_results_counted_by_an_earlier_version_have_no_senders(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.rollup.refresh(project.id)
    with store.warehouse.cursor() as cursor:
        cursor.execute(f'ALTER TABLE "visitors_{experiment.id}" DROP COLUMN exposure_sender')
    assert store.observe(experiment, project).senders is None


def test_dropped_attributes_are_part_of_it(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    keys = ",".join(f'"k{n}":"v"' for n in range(205))
    store.write(project, an_exposure(experiment, 0, "many", custom=f"{{{keys}}}"))
    found = senders_of(store, experiment, project)
    assert (found.dropped_attributes, found.dropped_key) == (5, "k200")


def test_senders_are_named_in_their_order() -> None:
    assert [sender_names(bits) for bits in (1, 3, 8)] == ["browser", "browser and server", "unknown"]
