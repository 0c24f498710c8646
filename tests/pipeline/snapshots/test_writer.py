"""Contents of snapshots: whole, of one moment, and no more of them than needed."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.snapshots.writer import Snapshots
from tests.builders import NOW, STARTED, a_goal, variants_of
from tests.pipeline.snapshots.counted_projects import counted, folder_of
from tests.pipeline.snapshots_at_hand import (
    assert_whole,
    files_in,
    manifest_of,
    named_in,
    rows_of,
)
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event, an_exposure


def test_a_snapshot_says_what_it_holds(store: WorkingStore) -> None:
    project, experiment = counted(store)
    store.snapshots.write(project.id)
    manifest = assert_whole(folder_of(store, project))
    assert (manifest["project_id"], manifest["timezone"], manifest["last_seq"]) == (project.id, "UTC", 4)
    assert manifest["taken_at"] == NOW.isoformat().replace("+00:00", "Z")
    (found,) = manifest["experiments"]
    assert (found["id"], found["name"], found["covered_seq"]) == (experiment.id, experiment.name, 4)
    assert [(v["id"], v["name"], v["is_control"], v["visitors"]) for v in found["variants"]] == [
        ("var_0", "Control", True, 1),
        ("var_1", "Treatment 1", False, 1),
    ]
    assert [(g["id"], g["name"], g["is_primary"], g["currency"]) for g in found["goals"]] == [
        ("goal_1", "Purchase", True, "USD")
    ]


def test_visitors_are_in_words_and_events_and_orders_are_found_by_their_key(store: WorkingStore) -> None:
    project, _ = counted(store)
    folder = folder_of(store, project)
    store.snapshots.write(project.id)
    manifest = manifest_of(folder)
    (found,) = manifest["experiments"]
    columns = (
        "visitor_id, variant_name, device_type, custom_dimensions, first_exposed_at, goal_1_revenue_cents"
    )
    assert rows_of(folder, [found["visitors"]], columns) == [
        ("v1", "Control", "mobile", '{"plan":"pro"}', STARTED, 1500),
        ("v2", "Treatment 1", None, None, STARTED.replace(minute=1), 0),
    ]
    orders = rows_of(folder, [found["orders"]], "visitor_key, goal_id, cents, day - from_day")
    bought = rows_of(folder, manifest["events"], "visitor_key, 'goal_1', revenue_cents, 1")
    assert orders == [bought[-1]]
    everyone = "sum(visitors) FILTER (dimension IS NULL), sum(cents) FILTER (dimension IS NULL)"
    sums = rows_of(
        folder, [found["aggregates"]], f"{everyone}, max(value) FILTER (dimension = 'custom:plan')"
    )
    assert sums == [(2, 1500, "pro")]


def test_what_was_counted_for_another_unit_is_left_out(own_store: WorkingStore) -> None:
    project, experiment = counted(own_store)
    other = own_store.add_experiment(project, unit="user")
    own_store.rollup.refresh(project.id)
    own_store.change(experiment, unit="user")
    own_store.change(other, unit="visitor")
    assert own_store.snapshots.write(project.id).experiments == ()
    own_store.rollup.refresh(project.id)
    assert {one.id for one in own_store.snapshots.write(project.id).experiments} == {experiment.id, other.id}


def test_events_are_there_as_they_came(own_store: WorkingStore) -> None:
    project, _ = counted(own_store)
    own_store.write(
        project, an_event("pageview", "v9", event_id="twice"), an_event("pageview", "v9", event_id="twice")
    )
    own_store.snapshots.write(project.id)
    folder = folder_of(own_store, project)
    rows = rows_of(folder, manifest_of(folder)["events"], "seq, type, visitor_id, occurred_at")
    assert [row[:3] for row in rows] == [
        (1, "exposure", "v1"),
        (2, "exposure", "v2"),
        (3, "conversion", "v1"),
        (4, "conversion", "v1"),
        (5, "pageview", "v9"),
        (6, "pageview", "v9"),
    ]
    assert rows[0][3] == STARTED


def test_visitors_set_aside_are_counted_and_have_no_row(store: WorkingStore) -> None:
    project, experiment = counted(store)
    store.write(
        project,
        an_exposure(experiment, 1, "v1", minute=3),
        an_exposure(experiment, 1, "robot", minute=3, is_bot=True),
    )
    store.rollup.refresh(project.id)
    (found,) = store.snapshots.write(project.id).experiments
    assert (found.several_variants, found.bots, found.visitors.rows) == (1, 1, 1)
    folder = folder_of(store, project)
    (said,) = manifest_of(folder)["experiments"]
    aside = rows_of(folder, [said["aggregates"]], "DISTINCT variant_id")
    assert {variant for (variant,) in aside} == {"var_1", "several_variants", "flagged_as_bot"}


def test_only_what_is_new_is_written_again(own_store: WorkingStore) -> None:
    project, over = counted(own_store)
    folder = folder_of(own_store, project)
    small = Snapshots(
        own_store.warehouse, own_store.catalog, Settings(), folder=folder.parent, events_a_file=1
    )
    small.write(project.id)
    before = {name: (folder / name).stat().st_ino for name in files_in(folder)}
    small.write(project.id)
    assert {name: (folder / name).stat().st_ino for name in files_in(folder) - {"manifest.json"}} == {
        name: inode for name, inode in before.items() if name != "manifest.json"
    }
    own_store.write(project, *(an_event("pageview", f"w{number}") for number in range(70_000)))
    small.write(project.id)
    assert_whole(folder)
    # The tail of before has grown to its block's end; what it was stays for readers until the next.
    events = [(file["first_seq"], file["last_seq"]) for file in manifest_of(folder)["events"]]
    assert events == [(1, 65_535), (65_536, 70_004)]
    assert manifest_of(folder)["retired"] == ["events/000000000000001-000000000000004.parquet"]
    kept = (folder / events_file(1, 65_535)).stat().st_ino
    own_store.write(project, an_event("pageview", "last"))
    small.write(project.id)
    assert (folder / events_file(1, 65_535)).stat().st_ino == kept
    assert files_in(folder) == named_in(folder) | {events_file(65_536, 70_004)}
    assert [one.id for one in small.write(project.id).experiments] == [over.id]


def test_files_of_results_that_stay_are_not_written_again(store: WorkingStore) -> None:
    project, seen = counted(store)
    other = store.add_experiment(project)
    store.write(project, *(an_exposure(other, 0, f"w{number}") for number in range(9)))
    store.rollup.refresh(project.id)
    before = {one.id: one for one in store.snapshots.write(project.id).experiments}
    # An order of a known visitor changes no row of the other experiment, which counts it nevertheless.
    store.write(project, a_purchase("v1", minute=3))
    store.rollup.refresh(project.id)
    after = {one.id: one for one in store.snapshots.write(project.id).experiments}
    assert after[seen.id].visitors.path != before[seen.id].visitors.path
    assert after[other.id].visitors.path == before[other.id].visitors.path
    assert after[other.id].covered_seq > before[other.id].covered_seq
    assert_whole(folder_of(store, project))


def events_file(first: int, last: int) -> str:
    return f"events/{first:015d}-{last:015d}.parquet"


def test_events_of_another_store_are_not_taken_for_those_of_this_one(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        with a_working_store(tmp_path / name) as store:
            project = store.catalog.projects.create(
                replace(store.add_project(), id="prj_same", sdk_key=name), actor="test"
            )
            store.write(project, an_event("pageview", f"visitor of {name}"))
            snapshots = Snapshots(store.warehouse, store.catalog, Settings(), folder=tmp_path / "out")
            written.append(snapshots.write(project.id).events)
    assert [file.path for file in written[0]] == [file.path for file in written[1]]
    rows = rows_of(tmp_path / "out" / "prj_same", [{"path": written[1][0].path}], "visitor_id")
    assert rows == [("visitor of two",)]


def test_a_renamed_variant_has_its_new_name(store: WorkingStore) -> None:
    project, experiment = counted(store)
    folder = folder_of(store, project)
    store.snapshots.write(project.id)
    first, second = experiment.variants
    store.change(experiment, variants=(first, replace(second, name="Renamed")))
    store.snapshots.write(project.id)
    rows = rows_of(folder, [manifest_of(folder)["experiments"][0]["visitors"]], "variant_name")
    assert rows == [("Control",), ("Renamed",)]


def test_an_empty_project_has_an_empty_snapshot(store: WorkingStore) -> None:
    project = store.add_project()
    store.add_experiment(project)
    manifest = store.snapshots.write(project.id)
    assert (manifest.events, manifest.experiments, manifest.last_seq) == ((), (), 0)
    assert files_in(folder_of(store, project)) == {"manifest.json"}


def test_fifty_goals_and_hostile_names(own_store: WorkingStore) -> None:
    goals = tuple(
        a_goal(id=f"goal_{number}", name="'; DROP TABLE --\"" + "ü" * number, is_primary=number == 0)
        for number in range(50)
    )
    first, second = variants_of((1, 1))
    project, _ = counted(
        own_store,
        goals=goals,
        name="../../etc/passwd",
        variants=(first, replace(second, name="a/b\\c:*?\"'")),
    )
    own_store.snapshots.write(project.id)
    manifest = assert_whole(folder_of(own_store, project))
    (found,) = manifest["experiments"]
    assert [goal["name"] for goal in found["goals"]] == [goal.name for goal in goals]
    rows = rows_of(folder_of(own_store, project), [found["visitors"]], "variant_name, goal_49_revenue_cents")
    assert rows == [("Control", 1500), ("a/b\\c:*?\"'", 0)]
    assert [path.name for path in own_store.snapshots.folder.iterdir()] == [project.id]


@pytest.mark.long(seconds=5)
def test_events_that_arrive_meanwhile_are_in_the_next_snapshot(store: WorkingStore) -> None:
    project, experiment = counted(store)
    folder = folder_of(store, project)
    stopping = threading.Event()

    def go_on() -> None:
        number = 0
        while not stopping.is_set():
            number += 1
            store.write(project, an_exposure(experiment, 0, f"new{number}", minute=5))
            store.rollup.refresh(project.id)

    sender = threading.Thread(target=go_on)
    sender.start()
    try:
        for _ in range(8):
            store.snapshots.write(project.id)
            manifest = assert_whole(folder)
            (found,) = manifest["experiments"]
            seqs = sorted(seq for (seq,) in rows_of(folder, manifest["events"], "seq"))
            assert seqs == list(range(1, manifest["last_seq"] + 1))
            assert found["covered_seq"] <= manifest["last_seq"]
            covered = f"type = 'exposure' AND seq <= {found['covered_seq']:d}"
            exposed = rows_of(folder, manifest["events"], f"count(DISTINCT visitor_id) FILTER ({covered})")
            assert exposed == [(found["visitors"]["rows"],)]
    finally:
        stopping.set()
        sender.join()


def test_a_reader_of_the_snapshot_before_goes_on(store: WorkingStore) -> None:
    project, experiment = counted(store)
    folder = folder_of(store, project)
    store.snapshots.write(project.id)
    held = manifest_of(folder)
    store.write(project, an_exposure(experiment, 0, "v3", minute=4))
    store.rollup.refresh(project.id)
    store.snapshots.write(project.id)
    assert rows_of(folder, [held["experiments"][0]["visitors"]], "count(*)") == [(2,)]
    assert rows_of(folder, held["events"], "count(*)") == [(4,)]


def test_everything_is_the_owners_alone(store: WorkingStore) -> None:
    project, _ = counted(store)
    store.snapshots.write(project.id)
    paths = [store.snapshots.folder, *store.snapshots.folder.rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_file()} == {0o600}
