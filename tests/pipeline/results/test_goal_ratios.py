"""Ratios of two events: the service against a data frame of the same visitors."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.weight_epochs import WeightEpoch
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Ratio
from engine.frames.segments import analyze_frame_segments
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from tests.builders import NOW, STARTED
from tests.pipeline.results.test_goal_amounts import alike
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

HOUR = 60
DAY = 24 * HOUR
BUYERS = 600
FRAME: dict[str, Any] = {
    "control": "Control",
    "goals": {"order": Ratio("spent", "orders"), "clicks": Ratio("clicks", "views", less_is_better=True)},
}
ORDER = {"event_name": "buy", "measure": "ratio", "numerator": "value", "denominator": {"event_name": "buy"}}
VIEWS = {"goal_type": "pageview", "url": "https://shop.example/"}


def goals(**of_order: Any) -> tuple[Goal, ...]:
    clicks = {"selector": "#buy", "measure": "ratio", "direction": "decrease", "denominator": VIEWS}
    return (
        Goal(
            id="goal_order",
            name="order",
            goal_type="custom_event",
            is_primary=True,
            config={**ORDER, **of_order},
        ),
        Goal(id="goal_clicks", name="clicks", goal_type="click", config=clicks),
    )


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture(scope="module")
def buyers() -> pl.DataFrame:
    """Draw orders and pages of visitors; who spent more before spends more since, by order."""
    rng = np.random.default_rng(7)
    taste = rng.gamma(2.0, 1.0, BUYERS)
    arm = np.arange(BUYERS) % 2
    orders = rng.poisson(0.8, BUYERS)
    views = rng.poisson(3.0, BUYERS)
    return pl.DataFrame(
        {
            "who": [f"v{number}" for number in range(BUYERS)],
            "variant": np.where(arm == 0, "Control", "Treatment"),
            "orders": orders,
            "spent": (orders * taste * (20 + 6 * arm)).round(4),
            "spent_before": (taste * rng.normal(20, 2, BUYERS)).round(4),
            "views": views,
            "clicks": rng.binomial(views, 0.3),
            "country": np.array(["DE", "US"])[rng.integers(0, 2, BUYERS)],
            "hour": rng.integers(0, 12, BUYERS),
        }
    )


def events(buyers: pl.DataFrame, experiment: Experiment) -> Iterator[EventRow]:
    """List their events: pages by the hour, so that days and what comes first differ by goal."""
    for place, row in enumerate(buyers.iter_rows(named=True)):
        who, at = row["who"], row["hour"] * HOUR
        segments = {"country": row["country"], "device_type": "mobile"}
        yield an_exposure(experiment, place % 2, who, minute=at, **segments)
        yield an_event("custom_event", who, event_name="buy", value=row["spent_before"], minute=at - DAY)
        for number in range(row["orders"]):
            done = round(row["spent"] * number / row["orders"], 4)
            rest = round(row["spent"] * (number + 1) / row["orders"], 4)
            bought = {"event_name": "buy", "value": rest - done}
            yield an_event("custom_event", who, **bought, minute=at + 3 + DAY * number)
        for number in range(row["views"]):
            yield an_event("pageview", who, url=VIEWS["url"], minute=at + 1 + HOUR * number)
        for number in range(row["clicks"]):
            yield an_event("click", who, selector="#buy", url=VIEWS["url"], minute=at + 2 + HOUR * number)


def test_ratios_are_those_of_a_data_frame(store: WorkingStore, buyers: pl.DataFrame) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    rows = list(events(buyers, experiment))
    for part in (rows[::3], rows[1::3], rows[2::3]):
        store.write(project, *part)
        store.rollup.refresh(project.id)
    methods: list[dict[str, Any]] = [{}, {"analysis_method": "bayesian"}]
    for more in methods:
        experiment = store.change(experiment, **more)
        report = store.results.report(experiment, project, now=NOW, is_finished=True)
        alike(report, analyze_frame(buyers, **FRAME, **more))
    order, clicks = report.goals
    treated = buyers.filter(variant="Treatment")
    assert order.variants[1].mean == pytest.approx(
        float(treated["spent"].sum()) / int(treated["orders"].sum())
    )
    for goal, above, below in ((order, "spent", "orders"), (clicks, "clicks", "views")):
        of_days = [of_day[goal.variants[1].variant_id] for _, of_day in goal.days]
        assert sum(day.amount or 0 for day in of_days) == pytest.approx(treated[above].sum())
        assert sum(day.denominator or 0 for day in of_days) == pytest.approx(treated[below].sum())
    assert store.rollup.rebuild(project.id).drifted == ()


def test_cuped_adjusts_a_ratio_by_its_numerator_before(store: WorkingStore, buyers: pl.DataFrame) -> None:
    project = store.add_project()
    statistics = Statistics(cuped=True, pre_period_days=2)
    experiment = store.add_experiment(project, goals=goals()[:1], statistics=statistics)
    store.write(project, *events(buyers, experiment))
    report = store.results.report(experiment, project, now=NOW, is_finished=True)
    frame = analyze_frame(
        buyers,
        control="Control",
        goals={"order": Ratio("spent", "orders", covariates="spent_before")},
    )
    alike(report, frame)
    assert report.goals[0].variants[1].details.unadjusted is not None


def test_ratios_where_weights_changed_and_in_segments_are_those_of_a_data_frame(
    store: WorkingStore, buyers: pl.DataFrame
) -> None:
    change = STARTED + timedelta(hours=5)
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    ids = [variant.id for variant in experiment.variants]
    epochs = [(STARTED, (1.0, 1.0)), (change, (1.0, 3.0))]
    moved = tuple(
        WeightEpoch(started_at=start, weights=dict(zip(ids, weights, strict=True)))
        for start, weights in epochs
    )
    experiment = store.change(experiment, weight_epochs=moved)
    store.write(project, *events(buyers, experiment))
    report = store.results.report(experiment, project, now=NOW, is_finished=True)
    timed = buyers.with_columns(at=pl.lit(STARTED) + pl.duration(hours="hour"))
    names = ("Control", "Treatment")
    changes = [(start, dict(zip(names, weights, strict=True))) for start, weights in epochs]
    alike(report, analyze_frame(timed, **FRAME, timestamp="at", weight_epochs=changes))
    found = store.results.segments(experiment, project, now=NOW, dimension="country")
    wanted = analyze_frame_segments(
        timed, **FRAME, segments=["country"], timestamp="at", weight_epochs=changes
    )
    for ours, theirs in zip(found.goals, wanted.goals, strict=True):
        assert len(ours.segments) == len(theirs.segments) == 2
        for one, other in zip(ours.segments, theirs.segments, strict=True):
            for name in ("mean", "improvement", "rest_improvement", "shrunk_improvement", "chance_to_beat"):
                assert getattr(one.variants[0], name) == pytest.approx(
                    getattr(other.variants[0], name), rel=1e-9
                )
    # One filter is answered from sums, two from visitor rows: all devices are phones here.
    by_sums, by_rows = (
        store.observe(experiment, project, {"country": "US", **more})
        for more in ({}, {"device_type": "mobile"})
    )
    assert by_sums.values is not None
    assert by_rows.values is not None
    american = buyers.filter(country="US", variant="Treatment")
    assert by_sums.values.orders.y.total[0, 1] == pytest.approx(american["spent"].sum())
    for name in ("n", "mean_x", "mean_y", "m2_x", "m2_y", "co"):
        np.testing.assert_allclose(
            getattr(by_rows.values.orders, name), getattr(by_sums.values.orders, name), rtol=1e-12
        )


def test_a_snapshot_has_both_parts_of_a_ratio(store: WorkingStore, buyers: pl.DataFrame) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    store.write(project, *events(buyers, experiment))
    report = store.results.report(experiment, project, now=NOW)
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    visitors = snapshot.visitors(experiment.id)
    parts = visitors.select("order: numerator", "order: denominator", "clicks: numerator").sum()
    assert parts.collect().row(0) == pytest.approx(
        (buyers["spent"].sum(), buyers["orders"].sum(), buyers["clicks"].sum())
    )
    alike(report, analyze_frame(visitors, **snapshot.analysis(experiment.id)))


def test_a_ratio_without_any_denominator_has_no_mean(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    store.write(
        project,
        *(an_exposure(experiment, place % 2, f"v{place}", country="DE") for place in range(4)),
        # The numerator alone, and the whole ratio in the other variant.
        an_event("click", "v0", selector="#buy", url=VIEWS["url"], minute=1),
        an_event("click", "v1", selector="#buy", url=VIEWS["url"], minute=1),
        an_event("pageview", "v1", url=VIEWS["url"], minute=2),
        an_event("pageview", "v3", url=VIEWS["url"], minute=2),
    )
    _, clicks = store.results.report(experiment, project, now=NOW).goals
    assert [one.mean for one in clicks.variants] == [None, 0.5]
    assert [one.conversions for one in clicks.variants] == [0, 2]
    assert clicks.variants[1].improvement is None
    found = store.results.segments(experiment, project, now=NOW, dimension="country").goals[1]
    (german,) = found.segments
    assert german.control is not None
    assert (german.control.mean, german.variants[0].mean) == (None, 0.5)


def test_a_conversion_that_names_the_goal_counts_above_and_below_where_both_are_one_event(
    store: WorkingStore,
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, goals=goals())
    store.write(
        project,
        an_exposure(experiment, 0),
        a_purchase(event_name="buy", goal_id="goal_order", cents=1250, minute=1),
        a_purchase(event_name="buy", cents=250, minute=2),
        a_purchase(event_name="buy", cents=500, minute=3, is_refund=True),
        # The numerator of clicks per page alone.
        a_purchase(event_name="x", goal_id="goal_clicks", cents=1, minute=4),
    )
    evidence = store.observe(experiment, project)
    assert evidence.values is not None
    pairs = evidence.values.orders
    assert pairs.y.total[:, 0].tolist() == [10.0, 1.0]
    assert pairs.x.total[:, 0].tolist() == [2.0, 0.0]


def test_a_ratio_beside_a_count_in_the_same_place_of_another_test(store: WorkingStore) -> None:
    """Experiments are counted together, and the columns of one are not those of the other."""
    project = store.add_project()
    ratio = store.add_experiment(project, goals=goals())
    views = Goal(
        id="goal_views",
        name="views",
        goal_type="pageview",
        is_primary=True,
        config={"url": VIEWS["url"], "measure": "count"},
    )
    count = store.add_experiment(project, goals=(views,))
    for minute in (1, 2):
        store.write(
            project,
            *(an_exposure(one, 0, who) for one in (ratio, count) for who in ("a", "b")),
            *(an_exposure(ratio, 1, f"idle{minute}{number}") for number in range(20)),
            an_event("pageview", "a", url=VIEWS["url"], minute=minute),
            an_event("custom_event", "a", event_name="buy", value=2.5, minute=minute),
        )
        store.rollup.refresh(project.id)
        evidence = store.observe(count, project)
        assert evidence.values is not None
        assert evidence.values.value.total[0, 0] == minute
    assert store.rollup.rebuild(project.id).drifted == ()
