"""Experiments by account or user: the service against a data frame of the exported visitors."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.design.units import AttributeUnit
from engine.frames.analyze import analyze_frame
from engine.vocabulary import GoalType
from pipeline.erasure.person_erasure import remove_from_tables
from pipeline.events.hashing import hash64
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson
from tests.builders import STARTED
from tests.pipeline.results.test_goal_amounts import COMPARED, INTERVALS, bounds
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure

ACCOUNT = AttributeUnit(attribute="account")
ALWAYS_VALID = {"statistics": Statistics(sequential="always_valid")}
DAY = 24 * 60
LATER = STARTED + timedelta(days=4, hours=9)
BOUGHT = {"event_name": "purchase"}
KINDS: list[tuple[str, GoalType, dict[str, Any]]] = [
    ("bought", "custom_event", BOUGHT),
    ("spent", "revenue", BOUGHT),
    ("per order", "revenue", {**BOUGHT, "per": "order"}),
    ("views", "pageview", {"url": "https://shop.example/", "measure": "count"}),
    ("score", "custom_event", {"event_name": "rated", "measure": "value"}),
    (
        "per view",
        "custom_event",
        {
            "event_name": "rated",
            "measure": "ratio",
            "numerator": "value",
            "denominator": {"goal_type": "pageview", "url": "https://shop.example/"},
        },
    ),
    ("back", "custom_event", {**BOUGHT, "measure": "retained", "from_day": 1, "to_day": 1}),
    ("soon", "custom_event", {**BOUGHT, "window": 1}),
    (
        "path",
        "custom_event",
        {
            **BOUGHT,
            "measure": "funnel",
            "steps": [{"goal_type": "pageview", "url": "https://shop.example/"}],
        },
    ),
]
GOALS = tuple(
    Goal(
        id=f"goal_{name}".replace(" ", "_"),
        name=name,
        goal_type=kind,
        is_primary=name == "bought",
        config=config,
    )
    for name, kind, config in KINDS
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store"), clock=lambda: LATER) as opened:
        yield opened


def visitors_of(accounts: int, seed: int = 3) -> Iterator[dict[str, Any]]:
    """Draw visitors of accounts, whose rates differ by much more than those of the variants."""
    rng = np.random.default_rng(seed)
    for account in range(accounts):
        rate = rng.beta(0.6, 2.4)
        for _ in range(int(rng.integers(1, 14))):
            is_buyer = rng.random() < rate
            yield {
                "account": f"a{account}",
                "variant": account % 2,
                "day": float(rng.integers(0, 3)),
                "orders": int(is_buyer) * int(rng.integers(1, 3)),
                "cents": int(rng.integers(500, 5000)),
                "views": int(rng.poisson(2 + 5 * rate)),
                "score": round(float(rng.normal(10 * rate, 1)), 4),
                "before": int(rng.random() < rate),
                "device_type": "mobile" if rng.random() < 0.6 else "desktop",
            }


def events_of(experiment: Experiment, visitors: Iterator[dict[str, Any]]) -> Iterator[EventRow]:
    for number, one in enumerate(visitors):
        who, at = f"v{number}", one["day"] * DAY
        custom = json.dumps({"account": one["account"], "tier": str(number % 3)})
        segments = {"custom": custom, "device_type": one["device_type"]}
        by_user = experiment.unit == "user"
        named = {"user_id": f"user of {one['account']}"} if by_user else {}
        yield an_exposure(experiment, one["variant"], who, minute=at, **segments, **named)
        for order in range(one["orders"]):
            yield a_purchase(who, cents=one["cents"], minute=at + 5 + order * DAY)
        for view in range(one["views"]):
            yield an_event("pageview", who, url="https://shop.example/", minute=at + 1 + view)
        yield an_event("custom_event", who, event_name="rated", value=one["score"], minute=at + 2)
        if one["before"]:
            yield a_purchase(who, cents=700, minute=at - DAY)


def counted(store: WorkingStore, accounts: int = 60, **fields: Any) -> tuple[Project, Experiment]:
    """Write the events in three parts, with a refresh after each."""
    project = store.add_project()
    experiment = store.add_experiment(project, **{"unit": ACCOUNT, "goals": GOALS, **fields})
    rows = list(events_of(experiment, visitors_of(accounts)))
    for part in (rows[::3], rows[1::3], rows[2::3]):
        store.write(project, *part)
        store.rollup.refresh(project.id)
    return project, experiment


def analysed(store: WorkingStore, project: Project, experiment: Experiment, **more: Any) -> Report:
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder, project.id)
    visitors = snapshot.visitors(experiment.id).collect()
    assert visitors["unit"].null_count() == 0
    return analyze_frame(visitors, **{**snapshot.analysis(experiment.id), **more})


def assert_same(served: Report, frame: Report) -> None:
    for ours in served.goals:
        (theirs,) = (one for one in frame.goals if one.goal.name == ours.goal.name)
        for found, wanted in zip(ours.variants, theirs.variants, strict=True):
            for name in (*COMPARED, "clusters"):
                expected = flatten(wanted)[name]
                is_number = isinstance(expected, float)
                assert flatten(found)[name] == (pytest.approx(expected, rel=1e-12) if is_number else expected)
            for name in INTERVALS:
                for bound, expected in zip(bounds(found, name), bounds(wanted, name), strict=True):
                    assert bound == (None if expected is None else pytest.approx(expected, rel=1e-9))
    for name in ("clusters", "required_visitors", "noun"):
        assert getattr(served.plan, name) == getattr(frame.plan, name)
    for name in ("design_effect", "intra_class_correlation"):
        expected = getattr(frame.plan, name)
        found = getattr(served.plan, name)
        assert found == (None if expected is None else pytest.approx(expected, rel=1e-9))
    assert served.clustered_by == frame.clustered_by
    for check in ("sample_ratio", "several_variants", "several_units"):
        (ours_of,), (theirs_of,) = (
            [one for one in report.health if one.check == check] for report in (served, frame)
        )
        assert (ours_of.status, ours_of.message) == (theirs_of.status, theirs_of.message)


@pytest.mark.parametrize(
    ("fields", "other_methods"),
    [
        ({}, [ALWAYS_VALID, {"statistics": Statistics(), "analysis_method": "bayesian"}]),
        ({"unit": "user", "statistics": Statistics(cuped=True, pre_period_days=3)}, []),
        pytest.param({"unit": "user"}, [], marks=pytest.mark.long(seconds=2)),
        pytest.param(
            {"statistics": Statistics(cuped=True, pre_period_days=3)}, [], marks=pytest.mark.long(seconds=2)
        ),
    ],
    ids=["account", "user with CUPED", "user", "account with CUPED"],
)
def test_numbers_by_unit_are_those_of_a_data_frame(
    store: WorkingStore, fields: dict[str, Any], other_methods: list[dict[str, Any]]
) -> None:
    project, experiment = counted(store, 30, **fields)
    for changes in ({}, *other_methods):
        experiment = store.change(experiment, **changes)
        report = store.results.report(experiment, project, now=LATER)
        assert_same(report, analysed(store, project, experiment))
    assert store.rollup.rebuild(project.id).drifted == ()
    again = store.results.report(experiment, project, now=LATER)
    assert again.goals == report.goals


def shown(
    experiment: Experiment, accounts: dict[str, tuple[int, int, int]], **more: Any
) -> Iterator[EventRow]:
    """Show so many visitors of each account a variant, of whom some convert."""
    for account, (variant, visitors, buyers) in accounts.items():
        for number in range(visitors):
            who = f"{account}-{number}"
            custom = json.dumps({"account": account})
            yield an_exposure(experiment, variant, who, custom=custom, **more)
            if number < buyers:
                yield a_purchase(who, minute=5)


def test_what_ignoring_accounts_calls_a_winner_is_none_by_account(store: WorkingStore) -> None:
    # Two accounts alone make the difference: 10% of the control's visitors and 18% of the variant's convert.
    accounts = {f"c{number}": (0, 40, 3 + number % 3) for number in range(12)}
    accounts |= {f"t{number}": (1, 40, 24 if number < 2 else 3 + number % 3) for number in range(12)}
    reports = []
    for unit in ("visitor", ACCOUNT):
        project = store.add_project()
        experiment = store.add_experiment(project, unit=unit)
        store.write(project, *shown(experiment, accounts))
        reports.append(store.results.report(experiment, project, now=LATER, is_finished=True))
    plain, by_account = reports
    assert [one.goals[0].variants[1].status for one in reports] == ["winner", "inconclusive"]
    assert [one.goals[0].variants[1].visitors for one in reports] == [480, 480]
    assert [one.goals[0].variants[1].clusters for one in reports] == [None, 12]
    assert plain.plan.design_effect is None
    buyers = np.array([[one[2] for one in accounts.values() if one[0] == arm] for arm in (0, 1)])
    rates = buyers.mean(axis=1) / 40
    alone = (480 * rates * (1 - rates)).sum() / (960 - 2)
    effect = buyers.var(axis=1, ddof=1).mean() / 40 / alone
    assert by_account.plan.design_effect == pytest.approx(effect)
    assert by_account.plan.intra_class_correlation == pytest.approx((effect - 1) / (40 - 1))
    assert by_account.primary is not None
    assert "compared by account: 12 units against 12" in by_account.primary.decision.explanation


def erase(store: WorkingStore, project: Project, name: str, *, is_user: bool) -> ErasedPerson:
    erased = store.rollup.erase(
        project.id, hash64(name), is_user=is_user, keep_out=lambda _: None, remove=remove_from_tables
    )
    assert erased is not None
    return erased


def test_units_of_several_variants_are_left_out_and_alarm(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project, unit=ACCOUNT)
    accounts = {f"c{number}": (0, 10, number % 3) for number in range(15)}
    accounts |= {f"t{number}": (1, 10, number % 4) for number in range(15)}
    rows = [*shown(experiment, accounts)]
    aside = [
        # One more visitor of an account sees the other variant; one has two accounts, and one has none.
        an_exposure(experiment, 1, "stranger", custom='{"account":"c0"}'),
        an_exposure(experiment, 1, "consultant", custom='{"account":"t1"}'),
        an_exposure(experiment, 1, "consultant", custom='{"account":"t2"}', minute=3),
        an_exposure(experiment, 1, "nobody"),
    ]
    store.write(project, *rows, *aside)
    observed = store.observe(experiment, project, now=LATER)
    assert observed.clusters is not None
    assert observed.clusters.total.tolist() == [14, 15]
    assert observed.visitors.tolist() == [140, 150]
    assert (observed.several_variants, observed.clusters.visitors_of_several) == (1, 11)
    assert (observed.clusters.in_several, observed.clusters.in_none) == (1, 1)
    report = store.results.report(experiment, project, now=LATER)
    checks = {one.check: one for one in report.health}
    assert checks["several_variants"].status == "alarm"
    assert checks["several_units"].details["visitors_in_several"] == 1
    assert_same(report, analysed(store, project, experiment))
    # The account counts from the day on that nobody of it saw another variant.
    assert erase(store, project, "stranger", is_user=False).recounted == (experiment.id,)
    assert store.observe(experiment, project, now=LATER).visitors.tolist() == [150, 150]


def test_results_stand_where_most_conversions_are_of_units_of_several_variants(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project, unit=ACCOUNT)
    rows = [*shown(experiment, {"c0": (0, 2, 1), "t0": (1, 2, 0)})]
    for number in range(12):
        rows += [
            an_exposure(experiment, number % 2, f"m{number}", custom='{"account":"both"}'),
            a_purchase(f"m{number}", minute=5),
        ]
    store.write(project, *rows)
    report = store.results.report(experiment, project, now=LATER)
    assert [(one.visitors, one.conversions) for one in report.goals[0].variants] == [(2, 1), (2, 0)]


def test_results_of_a_filter_are_by_unit_and_segments_are_left_out(store: WorkingStore) -> None:
    project, experiment = counted(store)
    observed = store.observe(experiment, project, {"device_type": "mobile"}, now=LATER)
    mobile = [one for one in visitors_of(60) if one["device_type"] == "mobile"]
    assert observed.clusters is not None
    for variant in (0, 1):
        theirs = [one for one in mobile if one["variant"] == variant]
        assert observed.visitors[variant] == len(theirs)
        assert observed.clusters.total[variant] == len({one["account"] for one in theirs})
    segments = store.results.segments(experiment, project, now=LATER)
    assert not segments.goals or not any(goal.segments for goal in segments.goals)
    assert "compared by account, not by visitor" in segments.left_out["device_type"]


@pytest.mark.parametrize("unit", [ACCOUNT, "user"])
def test_an_erasure_leaves_completed_results_by_unit_as_they_are(
    store: WorkingStore, project: Project, unit: Any
) -> None:
    experiment = store.add_experiment(project, unit=unit)
    accounts = {f"c{number}": (number % 2, 1 if unit == "user" else 6, number % 2) for number in range(30)}
    for account, one in accounts.items():
        store.write(project, *shown(experiment, {account: one}, user_id=f"user of {account}"))
    done = store.change(experiment, status="completed", completed_at=STARTED + timedelta(days=1))
    before = store.results.report(done, project, now=LATER)
    assert erase(store, project, "user of c0", is_user=True).sums_kept == (experiment.id,)
    after = store.results.report(done, project, now=LATER)
    assert after.goals == before.goals
    with store.warehouse.cursor() as cursor:
        keys = {hash64(name) for name in ("user of c0", "c0-0")}
        rows = cursor.table(f'"visitors_{experiment.id}"').project("visitor_key, unit_key").fetchall()
    assert not keys & {key for row in rows for key in row}
    assert erase(store, project, "user of c0", is_user=True).sums_kept == ()
