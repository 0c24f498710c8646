"""Results of goals that are judged on more than counts: from events to a verdict."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.evidence.largest_visitors import MOST
from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.frames.analyze import analyze_frame
from engine.frames.counts import count
from engine.frames.kinds import Revenue
from engine.frames.rows import Columns, read_rows
from engine.stats.paired_moments import PairedMoments, triple_moment
from pipeline.store.event_columns import EventRow
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure

DAY = 60 * 24
VISITORS = 400


def revenue(**config: Any) -> tuple[Goal, ...]:
    return (Goal(id="goal_r", name="Revenue", goal_type="revenue", is_primary=True, config=config),)


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture(scope="module")
def shoppers() -> pl.DataFrame:
    """Who bought for how much before and since, in how many orders; more before goes with more since."""
    rng = np.random.default_rng(12)
    taste = rng.gamma(2.0, 1000.0, VISITORS)
    orders = rng.poisson(1.0, VISITORS)
    variant = np.arange(VISITORS) % 2
    return pl.DataFrame(
        {
            "who": [f"v{number}" for number in range(VISITORS)],
            "variant": np.where(variant == 0, "Control", "Treatment"),
            "orders": orders,
            "each": (taste * (1 + 0.2 * variant)).round().astype(int),
            "before": np.where(rng.random(VISITORS) < 0.7, taste.round(), 0).astype(int),
            "mobile": rng.random(VISITORS) < 0.5,
        }
    ).with_columns(spent=pl.col("orders") * pl.col("each") / 100)


def served(store: WorkingStore, shoppers: pl.DataFrame, **fields: Any) -> tuple[Project, Experiment]:
    project = store.add_project()
    experiment = store.add_experiment(project, **fields)
    store.write(project, *events(shoppers, experiment))
    return project, experiment


def events(shoppers: pl.DataFrame, experiment: Experiment) -> Iterator[EventRow]:
    for place, row in enumerate(shoppers.iter_rows(named=True)):
        device = "mobile" if row["mobile"] else "desktop"
        yield an_exposure(experiment, place % 2, row["who"], minute=10, device_type=device)
        if row["before"]:
            yield a_purchase(row["who"], cents=row["before"], minute=-DAY)
        # Too long ago to say anything.
        yield a_purchase(row["who"], cents=99_999, minute=-15 * DAY)
        for order in range(row["orders"]):
            yield a_purchase(row["who"], cents=row["each"], minute=20 + order)


def treatment(report: Report) -> VariantResult:
    return report.goals[0].variants[1]


def alike(served: VariantResult, analysed: VariantResult) -> None:
    for name in (
        "improvement",
        "log_p_value",
        "chance_to_beat",
        "chance_to_be_best",
        "revenue_per_order_cents",
    ):
        wanted, found = (flatten(one)[name] for one in (analysed, served))
        assert found == (None if wanted is None else pytest.approx(wanted, rel=1e-9)), name
    assert (flatten(served)["orders"], served.status) == (flatten(analysed)["orders"], analysed.status)
    # A frame without times has no days, and so no year.
    in_a_frame = served.details.capped and replace(
        served.details.capped, projected_annual_revenue_impact_cents=None
    )
    assert in_a_frame == analysed.details.capped
    assert (served.details.unadjusted is None) == (analysed.details.unadjusted is None)
    if served.details.unadjusted and analysed.details.unadjusted:
        assert served.details.unadjusted.variance_reduction == pytest.approx(
            analysed.details.unadjusted.variance_reduction
        )


@pytest.mark.parametrize(
    ("config", "statistics", "goal"),
    [
        ({"cap_percentile": 90}, Statistics(), Revenue(cap_percentile=90)),
        ({"per": "order"}, Statistics(), Revenue(orders="orders")),
        ({}, Statistics(cuped=True), Revenue(covariates="before")),
        ({"per": "order"}, Statistics(cuped=True), Revenue(orders="orders", covariates="before")),
    ],
)
def test_the_service_and_a_data_frame_agree(
    store: WorkingStore,
    shoppers: pl.DataFrame,
    config: dict[str, Any],
    statistics: Statistics,
    goal: Revenue,
) -> None:
    project, experiment = served(store, shoppers, goals=revenue(**config), statistics=statistics)
    report = store.results.report(experiment, project, now=NOW)
    analysed = analyze_frame(shoppers, control="Control", goals={"spent": goal})
    alike(treatment(report), treatment(analysed))
    checks = {check.check: check.status for check in report.health}
    assert checks["alike_before"] == ("ok" if statistics.cuped else "not_applicable")


@pytest.mark.parametrize("device", [None, "mobile"])
def test_sums_of_products_of_three_are_those_of_rows(
    store: WorkingStore, shoppers: pl.DataFrame, device: str | None
) -> None:
    project, experiment = served(
        store, shoppers, goals=revenue(per="order"), statistics=Statistics(cuped=True)
    )
    filters = {} if device is None else {"device_type": device}
    found = store.observe(experiment, project, filters).values
    assert found is not None
    for column, name in enumerate(("Control", "Treatment")):
        rows = shoppers.filter(pl.col("variant") == name)
        rows = rows if device is None else rows.filter("mobile")
        z, x = (rows[one].to_numpy().astype(float) for one in ("before", "orders"))
        y = (rows["orders"] * rows["each"]).to_numpy().astype(float)
        pairs = ((found.orders, x, y), (found.before, z, y), (found.before_orders, z, x))
        for moments, first, second in pairs:
            expected = PairedMoments.of(first, second)
            for part in ("m3_x", "xxy", "xyy", "m3_y"):
                wanted = pytest.approx(getattr(expected, part), rel=1e-9)
                assert getattr(moments, part)[0, column] == wanted, part
        assert found.triple[0, column] == pytest.approx(triple_moment(z, y, x), rel=1e-9)
        assert found.nonzero[0, column] == np.count_nonzero(y)
        assert found.largest_orders[0, column] == x.max()


def test_caps_are_those_of_everybody_whatever_segment_is_asked_for(
    store: WorkingStore, shoppers: pl.DataFrame
) -> None:
    project, experiment = served(store, shoppers, goals=revenue(cap_percentile=90))
    whole = store.observe(experiment, project).values
    mobile = store.observe(experiment, project, {"device_type": "mobile"})
    assert whole is not None
    assert mobile.values is not None
    assert mobile.values.caps.tolist() == whole.caps.tolist()
    assert mobile.values.value.n.tolist() == [mobile.visitors.tolist()]
    assert (mobile.values.capped <= whole.capped).all()


def test_prior_of_the_past_and_adjustment_need_what_was_collected(
    store: WorkingStore, shoppers: pl.DataFrame
) -> None:
    goals = (
        Goal(
            id="goal_p",
            name="Purchase",
            goal_type="custom_event",
            is_primary=True,
            config={"event_name": "purchase"},
        ),
    )
    project, experiment = served(
        store, shoppers, goals=goals, analysis_method="bayesian", statistics=Statistics(prior="pre_period")
    )
    values = store.observe(experiment, project).values
    assert values is not None
    # Many purchases before are one visitor who purchased before.
    assert values.before.x.total.sum() == (shoppers["before"] > 0).sum()
    chance = treatment(store.results.report(experiment, project, now=NOW)).chance_to_beat
    flat = Statistics(prior="flat")
    project, plain = served(store, shoppers, goals=goals, analysis_method="bayesian", statistics=flat)
    assert store.observe(plain, project).values is None
    assert chance != treatment(store.results.report(plain, project, now=NOW)).chance_to_beat


def test_a_window_of_another_length_is_counted_anew(store: WorkingStore, shoppers: pl.DataFrame) -> None:
    project, experiment = served(store, shoppers, goals=revenue(), statistics=Statistics(cuped=True))
    short = store.observe(experiment, project).values
    changed = store.change(experiment, statistics=Statistics(cuped=True, pre_period_days=30))
    long = store.observe(changed, project).values
    assert short is not None
    assert long is not None
    assert long.before.x.total.sum() - short.before.x.total.sum() == VISITORS * 99_999


def test_more_visitors_later_are_carried_on(tmp_path: Path, shoppers: pl.DataFrame) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        experiment = store.add_experiment(
            project, goals=revenue(per="order"), statistics=Statistics(cuped=True)
        )
        rows = list(events(shoppers, experiment))
        store.write(project, *rows[: len(rows) // 2])
        store.rollup.refresh(project.id)
        store.write(project, *rows[len(rows) // 2 :])
        store.rollup.refresh(project.id)
        carried = store.observe(experiment, project).values
        assert store.rollup.rebuild(project.id).drifted == ()
        anew = store.observe(experiment, project).values
    assert carried is not None
    assert anew is not None
    for name in ("orders", "before", "before_orders"):
        assert getattr(carried, name).co.tolist() == getattr(anew, name).co.tolist()


def test_the_largest_revenue_of_one_visitor_is_that_of_the_rows(
    store: WorkingStore, shoppers: pl.DataFrame
) -> None:
    project, experiment = served(store, shoppers, goals=revenue())
    evidence = store.results.evidence(experiment, project, now=NOW)
    largest = shoppers.group_by("variant").agg((pl.col("spent") * 100).round().max()).sort("variant")
    assert evidence.largest_cents is not None
    assert evidence.largest_cents.tolist() == [largest["spent"].cast(pl.Int64).to_list()]
    (check,) = [
        one
        for one in store.results.report(experiment, project, now=NOW).health
        if one.check == "revenue_concentration"
    ]
    assert check.status == "ok"


@pytest.mark.parametrize(
    ("config", "goal"),
    [
        ({"per": "order"}, Revenue(orders="orders", covariates="before")),
        ({"cap_percentile": 90}, Revenue(cap_percentile=90, covariates="before")),
    ],
)
def test_the_largest_visitors_are_those_of_a_data_frame(
    store: WorkingStore, shoppers: pl.DataFrame, config: dict[str, Any], goal: Revenue
) -> None:
    project, experiment = served(store, shoppers, goals=revenue(**config), statistics=Statistics(cuped=True))
    found = store.observe(experiment, project).largest
    rows = shoppers.with_columns(pl.col("before") / 100)
    columns = Columns(variant="variant", goals={"spent": goal}, visitor=None, timestamp=None, currency="USD")
    expected = count(
        read_rows(rows, columns),
        variants=["Control", "Treatment"],
        goals=columns.goals,
        timezone="UTC",
        is_distinct=True,
    ).evidence.largest
    assert found is not None
    assert expected is not None
    # Of visitors with one value, as with the cap, any are among the largest.
    assert np.sort(found.value[..., :MOST]).tolist() == np.sort(expected.value[..., :MOST]).tolist()
    if "per" in config:
        denominators = found.denominator[..., MOST:], expected.denominator[..., MOST:]
        assert np.sort(denominators[0]).tolist() == np.sort(denominators[1]).tolist()
        by_value = found.value[0, 0, :MOST].tolist(), expected.value[0, 0, :MOST].tolist()
        assert by_value[0] == by_value[1]
        assert found.before[0, 0, :MOST].tolist() == (100 * expected.before[0, 0, :MOST]).tolist()


def test_two_visitors_do_not_ship_a_small_variant_of_the_service(store: WorkingStore) -> None:
    """One visitor in ten sees the treatment and spends a little more, and one of them 20 times as much."""
    project = store.add_project()
    experiment = store.add_experiment(project, goals=revenue(), weights=(9, 1))
    rng = np.random.default_rng(4)
    cents = (100 * rng.lognormal(3, 0.5, 1_000)).round()
    cents[9::10] *= 1.2
    cents = cents.round().astype(int)
    buys = rng.random(1_000) < 0.5
    cents[9], buys[9] = 45_000, True
    store.write(
        project,
        *(an_exposure(experiment, int(place % 10 == 9), f"s{place}", minute=10) for place in range(1_000)),
        *(a_purchase(f"s{place}", cents=int(cents[place]), minute=20) for place in np.flatnonzero(buys)),
    )
    report = store.results.report(experiment, project, now=NOW, is_finished=True)
    (check,) = [one for one in report.health if one.check == "one_visitor"]
    assert check.status == "warning"
    assert 45_000 < check.details["made"][0]["value"] < 55_000
    assert report.goals[0].decision.reason == "one_visitor"


def test_the_largest_revenue_is_known_of_all_visitors_only(
    store: WorkingStore, shoppers: pl.DataFrame
) -> None:
    project, experiment = served(store, shoppers, goals=revenue())
    assert store.observe(experiment, project).largest_cents is not None
    assert store.observe(experiment, project, {"device_type": "mobile"}).largest_cents is None
