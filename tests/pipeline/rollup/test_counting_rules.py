"""Each rule of what counts, on events written by hand."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import EventRow
from tests.builders import STARTED, a_goal
from tests.pipeline.working_store import (
    WorkingStore,
    a_purchase,
    an_event,
    an_exposure,
)

REVENUE = Goal(id="goal_r", name="Revenue", goal_type="revenue", is_primary=True)
DAY = 60 * 24


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    return store.add_experiment(project, goals=(REVENUE,))


def test_visitor_seen_in_several_variants_is_set_aside(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project, an_exposure(experiment), an_exposure(experiment, 1), an_exposure(experiment, 1, "v2")
    )

    evidence = store.observe(experiment, project)

    assert evidence.visitors.tolist() == [0, 1]
    assert evidence.several_variants == 1


def test_exposure_received_before_the_start_does_not_count(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, minute=-1), an_exposure(experiment, 1, "v2"))
    assert store.observe(experiment, project).visitors.tolist() == [0, 1]


def test_segments_are_those_of_the_earliest_exposure_even_if_it_arrives_late(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment, minute=9, device_type="mobile"))
    assert store.observe(experiment, project, {"device_type": "mobile"}).visitors.tolist() == [1, 0]

    store.write(project, an_exposure(experiment, minute=2, device_type="desktop"))

    assert store.observe(experiment, project, {"device_type": "mobile"}).visitors.tolist() == [0, 0]
    assert store.observe(experiment, project, {"device_type": "desktop"}).visitors.tolist() == [1, 0]


@pytest.mark.parametrize(("minute", "converts"), [(-1, 0), (0, 1), (2 * DAY, 1), (2 * DAY + 0.01, 0)])
def test_conversion_counts_from_the_first_exposure_to_the_end_of_the_window(
    store: WorkingStore, minute: float, converts: int
) -> None:
    project = store.add_project(settings={"attribution_window_days": 2})
    experiment = store.add_experiment(project)
    store.write(
        project, an_exposure(experiment), a_purchase(minute=minute, received_at=epoch_microseconds(STARTED))
    )
    assert store.observe(experiment, project).conversions.tolist() == [[converts, 0]]


@pytest.mark.parametrize(
    ("of_project", "of_goal", "counted"),
    [(None, 2, 2), (3, 2, 2), (1, 2, 1), (None, None, 3)],
    ids=["goal", "goal-is-shorter", "project-is-shorter", "neither"],
)
def test_goal_counts_events_within_its_window_and_that_of_the_project(
    store: WorkingStore, of_project: int | None, of_goal: int | None, counted: int
) -> None:
    project = store.add_project(settings={"attribution_window_days": of_project})
    window = {"window": of_goal}
    kinds: list[tuple[Any, dict[str, Any]]] = [
        ("revenue", {}),
        ("custom_event", {"event_name": "view", "measure": "count"}),
        ("custom_event", {"event_name": "view", "measure": "value"}),
        ("custom_event", {"event_name": "late"}),
    ]
    goals = tuple(
        Goal(id=f"goal_{place}", name=str(place), goal_type=kind, config={**config, **window})
        for place, (kind, config) in enumerate(kinds)
    )
    experiment = store.add_experiment(project, goals=(replace(goals[0], is_primary=True), *goals[1:]))
    moments = (DAY, 2 * DAY, 2 * DAY + 0.01)
    store.write(
        project,
        an_exposure(experiment),
        *(a_purchase(minute=minute, cents=100) for minute in moments),
        *(an_event("custom_event", event_name="view", minute=minute, value=1.5) for minute in moments),
        an_event("custom_event", event_name="late", minute=2 * DAY + 0.01),
    )
    evidence = store.observe(experiment, project, now=STARTED + timedelta(days=4))
    assert evidence.values is not None
    assert evidence.revenue.total[0, 0] == 100 * counted
    assert evidence.values.value.total[1:3, 0].tolist() == [counted, 1.5 * counted]
    assert evidence.conversions[:, 0].tolist() == [1, 1, 1, int(counted == 3)]
    assert evidence.daily.revenue_cents[:, 0, 0].sum() == 100 * counted


def test_earlier_exposure_that_arrives_late_moves_the_window(store: WorkingStore, project: Project) -> None:
    goal = a_goal(config={"event_name": "purchase", "window": 2})
    experiment = store.add_experiment(project, goals=(goal,))
    idle = [an_exposure(experiment, 0, f"idle{number}") for number in range(30)]
    shown = an_exposure(experiment, 1, minute=3 * DAY)
    store.write(project, *idle, shown, a_purchase(minute=4 * DAY))
    assert store.observe(experiment, project).totals.conversions.tolist() == [[0, 1]]

    store.write(project, an_exposure(experiment, 1, minute=1))
    assert store.observe(experiment, project).totals.conversions.tolist() == [[0, 0]]

    # An event of the window that arrives after it counts.
    received = epoch_microseconds(STARTED + timedelta(days=9))
    store.write(project, a_purchase(minute=2 * DAY, received_at=received))
    assert store.observe(experiment, project).totals.conversions.tolist() == [[0, 1]]
    assert store.rollup.rebuild(project.id).drifted == ()


def test_repeated_event_id_counts_once_however_late_and_whoever_says_it(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project, an_exposure(experiment), an_exposure(experiment, 1, "v2"), a_purchase(event_id="same")
    )
    store.rollup.refresh(project.id)
    store.write(project, a_purchase(event_id="same", minute=9 * DAY), a_purchase("v2", event_id="same"))

    assert store.observe(experiment, project).daily.revenue_cents.sum(axis=0).tolist() == [[1000, 0]]


def test_repeated_transaction_counts_once_but_its_refund_is_no_repeat(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        an_exposure(experiment),
        an_exposure(experiment, 1, "v2"),
        a_purchase(transaction_id="t1"),
        a_purchase(transaction_id="t1"),
        a_purchase("v2", transaction_id="t1"),
        a_purchase(transaction_id="t1", cents=400, is_refund=True),
    )
    evidence = store.observe(experiment, project)
    assert evidence.conversions.tolist() == [[1, 0]]
    assert evidence.revenue.total.tolist() == [[600.0, 0.0]]


def test_visitor_whose_only_order_was_refunded_still_converted(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment), a_purchase(), a_purchase(minute=5, is_refund=True))
    evidence = store.observe(experiment, project)
    assert evidence.conversions.tolist() == [[1, 0]]
    assert evidence.revenue.total.tolist() == [[0.0, 0.0]]


def observe_each(store: WorkingStore, project: Project, *cases: tuple[Goal, EventRow]) -> list[Evidence]:
    """Count a goal and an event of each case: in an experiment of its own, of a visitor of its own."""
    experiments = [store.add_experiment(project, goals=(goal,)) for goal, _ in cases]
    rows: list[EventRow] = []
    for number, (experiment, (_, event)) in enumerate(zip(experiments, cases, strict=True)):
        who = f"v{number}"
        rows += an_exposure(experiment, 0, who), event._replace(visitor_id=who, visitor_key=hash64(who))
    store.write(project, *rows)
    return [store.observe(experiment, project) for experiment in experiments]


# The config of a revenue goal, an order, and the cents that count.
ORDERS: tuple[tuple[dict[str, Any], EventRow, int], ...] = (
    ({"min_cents": 1000}, a_purchase(cents=999), 0),
    ({"min_cents": 1000}, a_purchase(cents=1000), 1000),
    ({"max_cents": 1000}, a_purchase(cents=1001), 0),
    ({"currency": "EUR"}, a_purchase(), 0),
    ({"currency": "EUR"}, a_purchase(currency="EUR"), 1000),
    ({}, a_purchase(currency="EUR"), 0),
    ({}, a_purchase(currency=None), 1000),
    ({}, an_event("custom_event", event_name="purchase", value=12.5), 1250),
    ({"event_name": "donation"}, a_purchase(), 0),
    ({"event_name": "donation"}, a_purchase(event_name="donation"), 1000),
)


def test_revenue_goal_counts_orders_of_its_name_and_currency_within_its_bounds(
    store: WorkingStore, project: Project
) -> None:
    goals = [
        Goal(id="goal_c", name="Orders", goal_type="revenue", is_primary=True, config=config)
        for config, *_ in ORDERS
    ]
    found = observe_each(store, project, *zip(goals, [order for _, order, _ in ORDERS], strict=True))
    wanted = [cents for *_, cents in ORDERS]
    assert [one.revenue.total.tolist() for one in found] == [[[cents, 0]] for cents in wanted]
    assert [one.conversions.tolist() for one in found] == [[[int(cents > 0), 0]] for cents in wanted]


A, B, CART = (f"https://x.example/{path}" for path in ("a", "b", "cart/2"))
# What a goal of some type tracks, an event, and how many convert.
TRACKED: tuple[tuple[Any, dict[str, str], EventRow, int], ...] = (
    ("pageview", {"url": A}, an_event("pageview", url=f"{A}/?x=1#y"), 1),
    ("pageview", {"url": A}, an_event("pageview", url=B), 0),
    ("pageview", {"url": A}, an_event("conversion", goal_id="goal_x"), 1),
    ("pageview", {"url": "/cart", "match_type": "starts_with"}, an_event("pageview", url=CART), 1),
    ("click", {"selector": "#buy"}, an_event("click", selector="#buy"), 1),
    ("click", {"selector": "#buy"}, an_event("click", selector="#sell"), 0),
    ("click", {"selector": "#buy", "url": "/a"}, an_event("click", selector="#buy", url=A), 1),
    ("click", {"selector": "#buy", "url": "/a"}, an_event("click", selector="#buy", url=B), 0),
    ("custom_event", {"event_name": "signup"}, an_event("custom_event", event_name="signup"), 1),
    ("custom_event", {"event_name": "signup"}, an_event("ga4_event", event_name="signup"), 0),
    ("custom_event", {"event_name": "signup"}, an_event("conversion", event_name="signup"), 1),
    (
        "custom_event",
        {"event_name": "signup"},
        an_event("conversion", goal_id="goal_y", event_name="signup"),
        0,
    ),
    ("ga4_event", {"event_name": "signup"}, an_event("ga4_event", event_name="signup"), 1),
)


def test_goal_counts_the_events_it_tracks(store: WorkingStore, project: Project) -> None:
    goals = [
        Goal(id="goal_x", name="Goal", goal_type=goal_type, is_primary=True, config=config)
        for goal_type, config, *_ in TRACKED
    ]
    found = observe_each(store, project, *zip(goals, [event for *_, event, _ in TRACKED], strict=True))
    assert [one.conversions.tolist() for one in found] == [[[counts, 0]] for *_, counts in TRACKED]


def test_conversion_of_a_user_belongs_to_the_visitor_who_identified_first(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        an_exposure(experiment),
        an_exposure(experiment, 0, "v2"),
        an_event("identify", user_id="anna"),
        an_event("identify", "v2", user_id="anna"),
        a_purchase(None, user_id="anna", minute=1),
    )
    assert store.observe(experiment, project).conversions.tolist() == [[1, 0]]


def test_identifying_takes_over_what_was_counted_for_the_user_before(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    idle = [an_exposure(experiment, 0, f"idle{number}") for number in range(30)]
    as_visitor = an_exposure(experiment, 1, "anna")
    store.write(
        project, *idle, an_exposure(experiment), as_visitor, a_purchase(None, user_id="anna", minute=1)
    )
    assert store.observe(experiment, project).conversions.tolist() == [[0, 1]]

    store.write(project, an_event("identify", user_id="anna", minute=2))

    assert store.observe(experiment, project).conversions.tolist() == [[1, 0]]


def test_repeated_conversion_of_a_user_stays_one_when_the_visitor_comes_back(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    idle = [an_exposure(experiment, 0, f"idle{number}") for number in range(30)]
    store.write(
        project,
        *idle,
        *(an_exposure(experiment, 1), an_event("identify", user_id="anna")),
        *(a_purchase(None, user_id="anna", event_id="same", minute=1) for _ in range(2)),
    )
    store.rollup.refresh(project.id)
    store.write(project, an_event("pageview", url="https://x.example/", minute=3))
    assert store.observe(experiment, project).revenue.total.tolist() == [[0, 1000]]


def test_order_reported_later_for_another_visitor_is_a_repeat_for_that_one_only(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    idle = [an_exposure(experiment, 0, f"idle{number}") for number in range(30)]
    shown = (an_exposure(experiment), an_exposure(experiment, 1, "v2"))
    store.write(project, *idle, *shown, a_purchase(transaction_id="t1"))
    store.rollup.refresh(project.id)
    store.write(project, a_purchase("v2", transaction_id="t1"), a_purchase("v2", transaction_id="t2"))
    assert store.observe(experiment, project).revenue.total.tolist() == [[1000, 1000]]


@pytest.mark.parametrize(
    ("settings", "visitors", "bots"),
    [({}, [1, 0], 1), ({"bot_filtering": True}, [1, 0], 1), ({"bot_filtering": False}, [2, 0], 0)],
)
def test_flagged_visitors_are_left_out_unless_the_project_says_otherwise(
    store: WorkingStore, settings: dict[str, bool], visitors: list[int], bots: int
) -> None:
    project = store.add_project(settings=settings)
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment), an_exposure(experiment, visitor="crawler", is_bot=True))
    evidence = store.observe(experiment, project)
    assert evidence.visitors.tolist() == visitors
    assert evidence.bots == bots


def test_every_order_adds_up_on_its_own_day_and_the_conversion_on_the_first(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(
        project,
        an_exposure(experiment),
        a_purchase(minute=DAY, cents=100),
        a_purchase(minute=DAY + 1, cents=20),
        a_purchase(minute=3 * DAY, cents=3),
    )
    daily = store.observe(experiment, project, now=STARTED + timedelta(days=4)).daily
    assert daily.visitors[:, 0].tolist() == [1, 0, 0, 0, 0]
    assert daily.conversions[:, 0, 0].tolist() == [0, 1, 0, 0, 0]
    assert daily.revenue_cents[:, 0, 0].tolist() == [0, 120, 0, 3, 0]


def test_days_are_those_of_the_reporting_timezone_on_a_day_of_23_hours(store: WorkingStore) -> None:
    # In New York clocks went forward on 2026-03-08 at 07:00 UTC, so that day ended at 04:00 UTC.
    project = store.add_project(reporting_timezone="America/New_York")
    experiment = store.add_experiment(project, goals=(a_goal(),))
    ends = STARTED.replace(day=9, hour=4, minute=0)
    minutes = [(ends - STARTED).total_seconds() / 60 + offset for offset in (-1, 0)]
    store.write(project, *(an_exposure(experiment, 0, f"v{at}", minute=at) for at in minutes))

    daily = store.observe(experiment, project, now=STARTED + timedelta(days=9)).daily

    assert {
        str(day): count for day, count in zip(daily.days, daily.visitors[:, 0], strict=True) if count
    } == {
        "2026-03-08": 1,
        "2026-03-09": 1,
    }
