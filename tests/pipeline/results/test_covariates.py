"""CUPED by several covariates in the service: attributes at the first exposure beside the goals' history."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from engine.analysis.comparison.metrics import adjusted_metrics
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.frames.analyze import analyze_frame
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Count, Ratio, Revenue, Value
from pipeline.results.covariates import with_indexes
from pipeline.results.exports import Exports
from pipeline.results.filters import SegmentFilters
from pipeline.results.visitor_values import values_of
from pipeline.rollup.goals.summed_goals import goals_needing_values
from pipeline.settings import Settings
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import read_value_sums
from pipeline.store.warehouse.visitors import result_table
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure

DAY = 60 * 24
VISITORS = 900
CITIES = 80
COVARIATES = ("pre_period", "country", "region", "custom:plan")
VIEW, VISIT = {"event_name": "view"}, {"event_name": "visit"}
GOALS: dict[str, tuple[Any, dict[str, Any], FrameGoal]] = {
    "bought": ("custom_event", {"event_name": "purchase"}, Converted()),
    "spent": ("revenue", {"cap_percentile": 95}, Revenue(cap_percentile=95)),
    "per order": ("revenue", {"per": "order"}, Revenue(orders="goal_2_orders")),
    "views": ("custom_event", {**VIEW, "measure": "count"}, Count()),
    "score": ("custom_event", {"event_name": "score", "measure": "value"}, Value()),
    "views per visit": (
        "custom_event",
        {**VIEW, "measure": "ratio", "denominator": VISIT},
        Ratio("goal_5_amount", "goal_5_denominator"),
    ),
}
# The column of each goal in an export.
MEASURED = (
    "bought",
    "goal_1_revenue_cents",
    "goal_2_revenue_cents",
    "goal_3_amount",
    "goal_4_amount",
    "ratio",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def goals() -> tuple[Goal, ...]:
    return tuple(
        Goal(id=f"goal_{place}", name=name, goal_type=kind, is_primary=place == 0, config=config)
        for place, (name, (kind, config, _)) in enumerate(GOALS.items())
    )


def events(experiment: Experiment) -> Iterator[EventRow]:
    """Visitors whose country, region, plan and past tell of what they do; each is unknown of some."""
    rng = np.random.default_rng(8)
    for place in range(VISITORS):
        who, arm = f"v{place}", place % 2
        country, city = str(rng.choice(["DE", "FR", "US", ""])), int(rng.integers(CITIES))
        plan = str(rng.choice(["free", "pro", ""]))
        taste = (
            {"DE": 1.0, "FR": 2.0, "US": 4.0, "": 1.5}[country] * (1 + (plan == "pro")) * rng.gamma(2, 0.5)
        )
        yield an_exposure(
            experiment,
            arm,
            who,
            minute=10,
            country=country or None,
            region=f"city {city}" if city else None,
            custom=f'{{"plan":"{plan}"}}' if plan else None,
            device_type="mobile" if rng.random() < 0.5 else "desktop",
        )
        for minute in (-DAY, 20):
            at = minute + int(rng.integers(5))
            if rng.random() < 1 - np.exp(-taste / 2):
                yield a_purchase(who, cents=int(1000 * taste * rng.gamma(4, 0.25)), minute=at)
            for number in range(rng.poisson(taste)):
                yield an_event("custom_event", who, event_name="view", minute=at + number)
            for number in range(1 + rng.poisson(taste / 2)):
                yield an_event("custom_event", who, event_name="visit", minute=at + number)
            score = float(np.round(rng.normal(10 * taste + city / 10, 2), 4))
            yield an_event("custom_event", who, event_name="score", value=score, minute=at)


@pytest.fixture(scope="module")
def served(store: WorkingStore) -> tuple[Project, Experiment]:
    project = store.add_project()
    statistics = Statistics(cuped=True, covariates=COVARIATES)
    experiment = store.add_experiment(project, goals=goals(), statistics=statistics)
    store.write(project, *events(experiment))
    return project, experiment


@pytest.fixture(scope="module")
def exported(store: WorkingStore, served: tuple[Project, Experiment]) -> pl.DataFrame:
    return export(store, served)


def export(
    store: WorkingStore, served: tuple[Project, Experiment], segment: dict[str, str] | None = None
) -> pl.DataFrame:
    project, experiment = served
    exports = Exports(store.warehouse, store.results, Settings(data_dir=store.warehouse.path.parent))
    filters = SegmentFilters(segment or {})
    with exports.visitors(experiment, project, filters, "parquet", now=NOW) as file:
        rows = pl.read_parquet(BytesIO(file.read()))
    return rows.with_columns(bought=pl.col("goal_0_converted_at").is_not_null())


def analysed(visitors: pl.DataFrame, covariates: tuple[str, ...] = COVARIATES) -> Report:
    named = {}
    for place, (column, (_, _, goal)) in enumerate(zip(MEASURED, GOALS.values(), strict=True)):
        own = [f"goal_{place}_before" if name == "pre_period" else name for name in covariates]
        named[column] = goal.with_options(covariates=own)
    return analyze_frame(visitors, control="Control", variant="variant_name", goals=named)


def assert_same(served: Report, found: Report) -> None:
    for goal, other in zip(served.goals, found.goals, strict=True):
        ours, theirs = goal.variants[1], other.variants[1]
        for name in ("improvement", "log_p_value", "score_value", "absolute_difference"):
            # Revenue of an export is in cents, and taken as dollars here.
            if name != "absolute_difference" or goal.goal.unit != "cents":
                assert flatten(ours)[name] == pytest.approx(flatten(theirs)[name], rel=1e-9), name
        for name in ("low", "high"):
            bound = getattr(theirs.improvement_interval, name)
            assert getattr(ours.improvement_interval, name) == pytest.approx(bound, rel=1e-9)
        assert ours.status == theirs.status
        assert ours.details.unadjusted is not None
        assert theirs.details.unadjusted is not None
        reduction = theirs.details.unadjusted.variance_reduction
        assert ours.details.unadjusted.variance_reduction == pytest.approx(reduction, rel=1e-9)


def test_the_service_and_a_data_frame_of_the_exported_visitors_agree(
    store: WorkingStore, served: tuple[Project, Experiment], exported: pl.DataFrame
) -> None:
    project, experiment = served
    report = store.results.report(experiment, project, now=NOW)
    assert exported["region"].n_unique() == CITIES
    assert exported["custom:plan"].null_count() > 100
    assert_same(report, analysed(exported))
    unadjusted = report.goals[4].variants[1].details.unadjusted
    assert unadjusted is not None
    assert unadjusted.covariates == COVARIATES
    assert unadjusted.variance_reduction > 0.5


def test_within_a_segment_they_agree_too(store: WorkingStore, served: tuple[Project, Experiment]) -> None:
    project, experiment = served
    segment = {"device_type": "mobile"}
    report = store.results.report(experiment, project, SegmentFilters(segment), now=NOW)
    found = analysed(export(store, served, segment))
    # Caps are those of all visitors, which a frame of some of them does not know.
    uncapped = [
        place for place, (_, config, _) in enumerate(GOALS.values()) if "cap_percentile" not in config
    ]
    assert len(uncapped) == len(GOALS) - 1
    assert_same(
        *(replace(one, goals=tuple(one.goals[place] for place in uncapped)) for one in (report, found))
    )


def test_a_snapshot_carries_the_covariates(store: WorkingStore, served: tuple[Project, Experiment]) -> None:
    project, experiment = served
    report = store.results.report(experiment, project, now=NOW)
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    kept = analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))
    assert_same(report, kept)
    unadjusted = kept.goals[1].variants[1].details.unadjusted
    assert unadjusted is not None
    assert unadjusted.covariates == ("spent: before", "country", "region", "custom:plan")


def test_attributes_alone_need_no_history(store: WorkingStore) -> None:
    project = store.add_project()
    statistics = Statistics(cuped=True, covariates=("country", "custom:plan"))
    experiment = store.add_experiment(project, goals=goals(), statistics=statistics)
    store.write(project, *events(experiment))
    report = store.results.report(experiment, project, now=NOW)
    rows = export(store, (project, experiment))
    assert not [name for name in rows.columns if name.endswith("_before")]
    assert_same(report, analysed(rows, ("country", "custom:plan")))


def evidence(store: WorkingStore, experiment: Experiment, project: Project) -> VisitorValues:
    found = store.results.evidence(experiment, project, now=NOW).values
    assert found is not None
    return found


def test_the_adjusted_difference_is_that_of_an_analysis_of_covariance(
    store: WorkingStore, served: tuple[Project, Experiment], exported: pl.DataFrame
) -> None:
    """The coefficient of statsmodels' least squares on the variant and all covariates."""
    project, experiment = served
    frame = exported.select(
        y="goal_4_amount",
        x="goal_4_before",
        arm=(pl.col("variant_name") != "Control").cast(pl.Int8),
        country=pl.col("country").fill_null("unknown"),
        plan=pl.col("custom:plan").fill_null("unknown"),
    )
    fit = smf.ols("y ~ arm + x + C(country) + C(plan)", frame.to_pandas()).fit()
    chosen = Statistics(cuped=True, covariates=("custom:plan", "pre_period", "country"))
    values = evidence(store, replace(experiment, statistics=chosen), project)
    score = adjusted_metrics(values[4:5], is_share=np.zeros(1, bool))
    control, treatment = score.moments.mean[0]
    assert treatment - control == pytest.approx(fit.params["arm"], rel=1e-9)
    assert values.index_slopes[4] == len(fit.params) - 2


@pytest.mark.long(seconds=25)
def test_without_an_effect_the_level_is_kept(store: WorkingStore) -> None:
    """The rows of visitors are drawn into variants anew, a fixed seed each; the p value is SciPy's."""
    project, runs = store.add_project(), 300
    chosen = Statistics(cuped=True, covariates=("pre_period", "country", "custom:plan"))
    experiment = store.add_experiment(project, goals=goals()[:2], statistics=chosen)
    store.write(project, *events(experiment))
    evidence(store, experiment, project)
    counted = [goal.id for goal in experiment.goals]
    summed = goals_needing_values(experiment, counted)
    ids = {"variants": [variant.id for variant in experiment.variants], "goals": counted}
    rejected = np.zeros(len(counted))
    for run in range(runs):
        with store.warehouse.transaction() as cursor:
            table = result_table("visitors", experiment.id)
            drawn = f"hash(concat(visitor_key, '/{run:d}')) % 2"
            cursor.execute(f"UPDATE {table} SET variant = {drawn}")  # noqa: S608 - a table of our own
            visitors = SelectedVisitors.everyone(cursor, experiment.id, variants=2)
            sums = read_value_sums(visitors, summed)
            values = values_of(experiment, Evidence.empty(len(counted), 2), sums, **ids)
            values = with_indexes(visitors, experiment, values, summed, last_day=None, **ids)
        adjusted = adjusted_metrics(values, is_share=np.zeros(len(counted), bool)).moments
        deviations = np.sqrt(adjusted.variance)
        for goal in range(len(counted)):
            (m0, m1), (s0, s1), (n0, n1) = (part[goal] for part in (adjusted.mean, deviations, adjusted.n))
            p = stats.ttest_ind_from_stats(m0, s0, n0, m1, s1, n1, equal_var=False).pvalue
            rejected[goal] += p < 0.05
    # Three standard errors of 5%.
    assert (np.abs(rejected / runs - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / runs)).all(), rejected / runs
