"""Amounts of tracked events."""

from collections.abc import Iterator
from typing import Any

import pytest

from engine.design.goal import Goal
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event, an_exposure


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def counted(
    store: WorkingStore, *cases: tuple[dict[str, Any], dict[str, Any]], currency: str = "USD"
) -> list[tuple[int, float]]:
    """Count the conversions and the minor units of each goal's event, of a visitor of its own."""
    project = store.add_project(settings={"revenue_currency": currency})
    experiments, rows = [], []
    for number, (goal, event) in enumerate(cases):
        shown = Goal(id="goal_1", name="Bought", is_primary=True, **goal)
        experiments.append(store.add_experiment(project, goals=(shown,)))
        kind, who = "ga4_event" if goal["goal_type"] == "ga4_event" else "custom_event", f"v{number}"
        rows.append(an_exposure(experiments[-1], 0, who))
        rows.append(an_event(kind, who, event_name="purchase", **event))
    store.write(project, *rows)
    observed = [store.observe(one, project) for one in experiments]
    return [(int(one.conversions[0, 0]), float(one.revenue.total[0, 0])) for one in observed]


REVENUE: dict[str, Any] = {"goal_type": "revenue"}


def ga4(**config: str) -> dict[str, Any]:
    return {"goal_type": "ga4_event", "config": {"event_name": "purchase", **config}}


# ISO 4217: the yen has no minor unit, the Bahraini dinar a thousand of them.
@pytest.mark.parametrize(("currency", "minor"), [("USD", 1250), ("JPY", 12), ("BHD", 12_500)])
def test_a_value_becomes_the_minor_units_of_the_currency(
    store: WorkingStore, currency: str, minor: int
) -> None:
    value = 12 if currency == "JPY" else 12.5
    event = {"value": value}
    goals = (REVENUE, ga4(value_param="value"))
    assert counted(store, *((goal, event) for goal in goals), currency=currency) == [(1, minor)] * 2
    assert counted(store, ({**REVENUE, "config": {"currency": currency}}, event)) == [(1, minor)]


CENTS = {
    '{"tax/net":"7.25"}': 725,
    '{"tax/net":"12"}': 1200,
    '{"tax/net":"1e3"}': 100_000,
    '{"tax/net":"free"}': 0,
    '{"tax/net":"nan"}': 0,
    '{"tax/net":"inf"}': 0,
    '{"tax/net":"1e300"}': 0,
    '{"tax":"3"}': 0,
    None: 0,
}


def test_the_named_parameter_is_read_and_without_a_number_there_is_no_revenue(store: WorkingStore) -> None:
    cases = [(ga4(value_param="tax/net"), {"value": 99.0, "custom": custom}) for custom in CENTS]
    assert counted(store, *cases) == [(1, cents) for cents in CENTS.values()]


def test_an_event_of_a_goal_without_a_parameter_has_no_revenue(store: WorkingStore) -> None:
    assert counted(store, (ga4(), {"value": 99.0})) == [(1, 0)]
