"""What a notebook reads of a snapshot."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted, Revenue
from engine.vocabulary import AnalysisMethod
from pipeline.results.filters import SegmentFilters
from pipeline.snapshots.manifest import UnreadableSnapshotError, read_manifest, write_manifest
from pipeline.snapshots.reader import Snapshot, open_snapshot
from tests.builders import NOW, STARTED, a_goal
from tests.pipeline.snapshots_at_hand import without_digests
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

REVENUE = a_goal(id="goal_2", name="Revenue", goal_type="revenue", is_primary=False)


def counted(store: WorkingStore, *goals: str, name: str = "Checkout button") -> tuple[Project, Experiment]:
    """Three visitors, one of whom bought; goals with these names, or a purchase and its revenue."""
    chosen = tuple(
        a_goal(id=f"goal_{number}", name=goal, is_primary=number == 0) for number, goal in enumerate(goals)
    )
    project = store.add_project()
    experiment = store.add_experiment(project, goals=chosen or (a_goal(), REVENUE), name=name)
    store.write(
        project,
        an_exposure(experiment, 0, "v1", device_type="mobile"),
        an_exposure(experiment, 1, "v2", minute=1, device_type="desktop"),
        an_exposure(experiment, 1, "v3", minute=2),
        a_purchase("v2", minute=3, cents=1999),
    )
    store.rollup.refresh(project.id)
    return project, experiment


def opened(store: WorkingStore, project: Project) -> Snapshot:
    store.snapshots.write(project.id)
    return open_snapshot(store.snapshots.folder / project.id)


def test_visitors_have_a_row_each_in_plain_words(store: WorkingStore) -> None:
    project, experiment = counted(store)
    visitors = opened(store, project).visitors("Checkout button").collect()
    assert visitors.columns[:11] == [
        *("visitor_key", "visitor_id", "variant", "variant_id", "first_exposed_at"),
        *("Purchase", "Purchase: revenue", "Purchase: at"),
        *("Revenue: converted", "Revenue", "Revenue: at"),
    ]
    names = ("visitor_id", "variant", "Purchase", "Revenue", "device_type")
    assert visitors.select(names).rows() == [
        ("v1", "Control", False, 0.0, "mobile"),
        ("v2", "Treatment 1", True, 19.99, "desktop"),
        ("v3", "Treatment 1", False, 0.0, None),
    ]
    assert visitors["first_exposed_at"][0] == STARTED
    assert visitors.equals(opened(store, project).visitors(experiment.id).collect())


def test_experiments_are_listed(store: WorkingStore) -> None:
    project, experiment = counted(store)
    (row,) = opened(store, project).experiments.rows(named=True)
    assert (row["name"], row["id"], row["status"], row["visitors"]) == (
        experiment.name,
        experiment.id,
        "running",
        3,
    )
    assert (row["variants"], row["goals"]) == (["Control", "Treatment 1"], ["Purchase", "Revenue"])


def test_all_that_was_stored_can_be_read(own_store: WorkingStore) -> None:
    project, experiment = counted(own_store)
    own_store.write(project, a_purchase("v2", minute=60 * 24, cents=1))
    own_store.rollup.refresh(project.id)
    snapshot = opened(own_store, project)
    assert snapshot.events().select("seq").collect()["seq"].to_list() == [1, 2, 3, 4, 5]
    assert snapshot.orders(experiment.id).collect()["goal_id"].to_list() == ["goal_1", "goal_2"]
    everyone = snapshot.aggregates(experiment.id).filter(pl.col("dimension").is_null())
    assert everyone.select(pl.col("visitors").sum()).collect().item() == 3
    assert [path.suffix for path in snapshot.event_paths()] == [".parquet"]


def test_goals_that_are_named_like_something_else_keep_columns_of_their_own(store: WorkingStore) -> None:
    names = (
        "variant",
        "device_type",
        "Twice",
        "Twice",
        "Twice (goal_3)",
        "X",
        "X: at",
        "'; --",
        "\u202e\U0001f600",
    )
    project, experiment = counted(store, *names)
    snapshot = opened(store, project)
    columns = snapshot.visitors(experiment.id).collect_schema().names()
    assert len(columns) == len(set(columns))
    assert list(snapshot.goal_columns(experiment.id)) == [
        *("variant (goal_0)", "device_type (goal_1)", "Twice", "Twice (goal_3)", "Twice (goal_3) (goal_4)"),
        *("X", "X: at (goal_6)", "'; --", "\u202e\U0001f600"),
    ]
    report = analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))
    assert [[variant.conversions for variant in goal.variants] for goal in report.goals] == [[0, 1]] * len(
        names
    )


def test_analysis_is_as_the_service_does_it(store: WorkingStore) -> None:
    project, experiment = counted(store)
    store.change(
        experiment,
        goals=(
            replace(experiment.goals[0], is_primary=False),
            replace(REVENUE, is_primary=True, config={"currency": "EUR", "direction": "decrease"}),
        ),
    )
    store.rollup.refresh(project.id)
    settings = opened(store, project).analysis(experiment.id)
    assert list(settings["goals"].items()) == [
        ("Revenue", Revenue(currency="EUR", less_is_better=True)),
        ("Purchase", Converted()),
    ]
    assert settings["control"] == "Control"
    assert settings["weights"] == {"Control": 1.0, "Treatment 1": 1.0}


@pytest.mark.parametrize(
    ("method", "statistics"),
    [
        ("frequentist", Statistics(sequential="group_sequential", planned_sample=1000)),
        ("frequentist", Statistics(sequential="always_valid", planned_sample=1000)),
        ("frequentist", Statistics(correction="dunnett", cuped=True)),
        ("bayesian", Statistics(prior="lift", prior_deviation_percent=3)),
    ],
)
def test_a_notebook_judges_as_carefully_as_the_service(
    store: WorkingStore, method: AnalysisMethod, statistics: Statistics
) -> None:
    project = store.add_project()
    goals = (
        a_goal(),
        replace(REVENUE, config={"cap_percentile": 90}),
        replace(REVENUE, id="goal_3", name="Per order", config={"per": "order", "cap_percentile": 90}),
    )
    experiment = store.add_experiment(
        project, weights=(1, 1, 1), goals=goals, analysis_method=method, statistics=statistics
    )
    people = [(arm, f"{arm}-{number}") for arm in range(3) for number in range(120)]
    buys = [who for arm, who in people if int(who[2:]) % (4 - arm) == 0]
    store.write(
        project,
        *(an_exposure(experiment, arm, who) for arm, who in people),
        *(a_purchase(who, minute=3, cents=100 + 7 * place**2) for place, who in enumerate(buys)),
    )
    store.rollup.refresh(project.id)
    snapshot = opened(store, project)
    report = analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))
    served = store.results.report(experiment, project, SegmentFilters(), now=NOW)
    assert len(served.goals) == 3
    for goal, expected in zip(report.goals, served.goals, strict=True):
        assert goal.goal.name == expected.goal.name
        # The control is compared with nothing.
        for variant, whole in zip(goal.variants[1:], expected.variants[1:], strict=True):
            assert (variant.visitors, variant.conversions) == (whole.visitors, whole.conversions)
            if expected.goal.name == "Per order":
                # Its orders are not in one row per visitor, so that only the counts agree.
                continue
            wanted = whole.details.unadjusted or whole
            assert variant.status == wanted.status
            assert variant.compared.score_value == pytest.approx(wanted.compared.score_value, rel=1e-9)
            assert variant.details.capped == whole.details.capped


def test_variants_that_nobody_saw_are_not_compared(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, weights=(1, 1, 1))
    store.write(project, an_exposure(experiment, 0, "v1"), an_exposure(experiment, 2, "v2"))
    store.rollup.refresh(project.id)
    snapshot = opened(store, project)
    assert set(snapshot.analysis(experiment.id)["weights"]) == {"Control", "Treatment 2"}
    report = analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))
    assert [variant.visitors for variant in report.goals[0].variants] == [1, 1]


def test_without_visitors_of_the_control_there_is_nothing_to_compare(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment, 1, "v1"))
    store.rollup.refresh(project.id)
    with pytest.raises(ValueError, match="no visitors who saw the control"):
        opened(store, project).analysis(experiment.id)


def test_an_experiment_that_nobody_saw_has_no_visitors(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_event("pageview"))
    store.rollup.refresh(project.id)
    visitors = opened(store, project).visitors(experiment.id).collect()
    assert (visitors.height, "Purchase" in visitors.columns) == (0, True)


def test_an_empty_project_has_nothing_to_read(store: WorkingStore) -> None:
    snapshot = opened(store, store.add_project())
    assert (snapshot.experiments.height, snapshot.event_paths()) == (0, [])
    assert snapshot.events().collect().is_empty()
    with pytest.raises(KeyError, match="there are: none"):
        snapshot.visitors("Checkout button")


def test_a_name_that_is_wrong_gets_a_hint(store: WorkingStore) -> None:
    project, _ = counted(store)
    with pytest.raises(KeyError, match="did you mean 'Checkout button'"):
        opened(store, project).visitors("Checkout buton")


def test_one_of_several_projects_is_named(own_store: WorkingStore) -> None:
    project, _ = counted(own_store)
    other = own_store.add_project(name="Other")
    own_store.snapshots.write(project.id)
    assert open_snapshot(own_store.snapshots.folder).project_id == project.id
    own_store.snapshots.write(other.id)
    with pytest.raises(UnreadableSnapshotError, match="snapshots of several projects; name one of"):
        open_snapshot(own_store.snapshots.folder)
    assert open_snapshot(own_store.snapshots.folder, "Other").project_id == other.id
    assert open_snapshot(own_store.snapshots.folder, project.id).project_id == project.id
    with pytest.raises(UnreadableSnapshotError, match="has no snapshot of project 'Nowhere'; there are: "):
        open_snapshot(own_store.snapshots.folder, "Nowhere")


def test_a_folder_without_snapshots_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSnapshotError, match=r"there is no snapshot in .*nowhere; give the folder"):
        open_snapshot(tmp_path / "nowhere")


def test_a_snapshot_that_was_replaced_twice_says_so(store: WorkingStore) -> None:
    project, experiment = counted(store)
    snapshot = opened(store, project)
    for number in range(2):
        assert snapshot.visitors(experiment.id).collect().height == 3
        store.write(project, an_exposure(experiment, 0, f"new{number}", minute=9))
        store.rollup.refresh(project.id)
        store.snapshots.write(project.id)
    with pytest.raises(UnreadableSnapshotError, match="open it again"):
        snapshot.visitors(experiment.id)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{", "is no manifest"), ('{"schema_version": 1}', "is no manifest")],
)
def test_what_is_no_manifest_is_said_so(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UnreadableSnapshotError, match=complaint):
        open_snapshot(tmp_path)


@pytest.mark.parametrize("kind", ["visitors", "orders", "aggregates"])
def test_a_damaged_file_is_named_and_the_next_snapshot_has_it_whole(store: WorkingStore, kind: str) -> None:
    project, experiment = counted(store)
    snapshot = opened(store, project)
    path = snapshot.path(getattr(snapshot.experiment(experiment.id), kind))
    written = path.read_bytes()
    path.write_bytes(written[:50] + bytes([written[50] ^ 1]) + written[51:])
    read = {"visitors": snapshot.visitors, "orders": snapshot.orders, "aggregates": snapshot.aggregates}[kind]
    with pytest.raises(UnreadableSnapshotError, match=f"{path.name} is damaged"):
        read(experiment.id)
    assert opened(store, project).visitors(experiment.id).collect().height == 3


def test_truncated_events_are_named(store: WorkingStore) -> None:
    project, _ = counted(store)
    snapshot = opened(store, project)
    path = snapshot.event_paths()[0]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UnreadableSnapshotError, match=f"{path.name} is damaged"):
        snapshot.events()


def test_a_snapshot_from_before_there_were_digests_is_read(own_store: WorkingStore) -> None:
    project, experiment = counted(own_store)
    opened(own_store, project)
    without_digests(own_store.snapshots.folder / project.id)
    snapshot = open_snapshot(own_store.snapshots.folder)
    assert snapshot.visitors(experiment.id).collect().height == 3
    assert snapshot.events().collect().height == 4


def test_a_snapshot_of_another_version_is_not_misread(store: WorkingStore) -> None:
    project, _ = counted(store)
    snapshot = opened(store, project)
    write_manifest(snapshot.folder, replace(read_manifest(snapshot.folder), schema_version=2))
    with pytest.raises(UnreadableSnapshotError, match="schema version 2"):
        open_snapshot(snapshot.folder)
