"""Described sources are imported whole or not at all, and every row once, in any order."""

import json
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.design import lifecycle
from engine.design.project import Project
from engine.errors import InvalidDesignError
from pipeline.clock import utc_now
from pipeline.imports.imported_experiment import ImportRefusedError
from pipeline.imports.source_check import check_source
from pipeline.requests.experiments import create_draft
from pipeline.sources import disk_files
from pipeline.sources.definition_files import read_definition
from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.watermarks import read_watermarks
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.imports.described_sources import EXPOSURES, ORDERS, describe, import_described, shop_rows
from tests.pipeline.imports.visitor_files import totals
from tests.pipeline.working_store import WorkingStore

EXPOSED, ORDERED = shop_rows(300)


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    return path


def test_late_rows_are_added_repeats_are_not_and_order_changes_nothing(
    tmp_path: Path, store: WorkingStore
) -> None:
    whole, parts = store.add_project(), store.add_project()
    exposures, orders = describe(tmp_path, "exposures", EXPOSURES), describe(tmp_path, "orders", ORDERS)
    # Orders before the exposures of their visitors, and the oldest exposures last.
    for exposed, ordered in (
        (EXPOSED[100:], ORDERED[:50]),
        (EXPOSED[50:], ORDERED),
        (EXPOSED, ORDERED[::-1]),
    ):
        write(tmp_path / "exposures.parquet", exposed)
        write(tmp_path / "orders.parquet", ordered)
        import_described(store, parts, orders, exposures)
    first = import_described(store, whole, exposures, orders)
    assert [one.imported.rows for one in first] == [len(EXPOSED), len(ORDERED)]
    assert totals(store, parts) == totals(store, whole)
    assert sum(count_by_type(store.warehouse, parts.id).values()) == len(EXPOSED) + len(ORDERED)
    again = import_described(store, whole, orders, exposures)
    assert [one.imported.rows for one in again] == [0, 0]
    marks = read_watermarks(store.settings.data_dir, whole.id)
    newest = max(row["at"] for row in ORDERED)
    assert (marks["orders"].rows, marks["orders"].new_rows, marks["orders"].newest_at) == (
        len(ORDERED),
        0,
        newest,
    )
    store.ingest.forget(whole.id)
    assert read_watermarks(store.settings.data_dir, whole.id) == {}


def test_rows_without_event_ids_are_known_by_their_content(tmp_path: Path, store: WorkingStore) -> None:
    project = store.add_project()
    write(tmp_path / "exposures.parquet", EXPOSED)
    write(tmp_path / "orders.parquet", [*ORDERED, ORDERED[0]])
    sources = [
        describe(tmp_path, name, text, {'event_id = "id"\n': ""})
        for name, text in (("exposures", EXPOSURES), ("orders", ORDERS))
    ]
    first = import_described(store, project, *sources)
    again = import_described(store, project, *sources)
    assert [one.imported.rows for one in first] == [len(EXPOSED), len(ORDERED) + 1]
    assert [(one.imported.rows, one.imported.known_rows) for one in again] == [
        (0, len(EXPOSED)),
        (0, len(ORDERED) + 1),
    ]


def test_a_description_that_changes_what_rows_are_known_by_is_refused(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    plain = {'revenue = "paid"\ntransaction = "order_number"\nevent_id = "id"\n': 'value = "paid"\n'}
    write(tmp_path / "orders.parquet", ORDERED)
    import_described(store, project, describe(tmp_path, "orders", ORDERS, plain))
    for changed in ('event = "order"\ntime_zone = "Europe/Berlin"', 'event = "sale"'):
        path = describe(tmp_path, "orders", ORDERS, {**plain, 'event = "order"': changed})
        with pytest.raises(ImportRefusedError, match=r"changed since .*event order.*value paid"):
            import_described(store, project, path)
    # Segments are no part of what a row is known by, and another name is another source.
    wider = {'value = "paid"': 'value = "paid"\nsegments = ["order_number"]'}
    (same,) = import_described(store, project, describe(tmp_path, "orders", ORDERS, {**plain, **wider}))
    assert same.imported.rows == 0
    import_described(store, project, describe(tmp_path, "corrected", ORDERS, plain))


def test_a_source_of_visitors_has_its_columns_in_the_file(tmp_path: Path, store: WorkingStore) -> None:
    project = store.add_project()
    (tmp_path / "visitors.csv").write_text(
        "who,arm,at,spend\nv1,A,2026-11-01 10:00,1.5\nv2,B,2026-11-01 11:00,2\n"
    )
    text = """
        kind = "visitors"
        location = "visitors.csv"
        time_zone = "America/New_York"
        control = "A"
        goals = { spend = "revenue" }
        columns = { visitor = "who", variant = "arm", timestamp = "at" }
    """
    (one,) = import_described(store, project, describe(tmp_path, "visits", text))
    assert [experiment.name for experiment in one.experiments] == ["visits"]
    assert str(one.watermark.newest_at) == "2026-11-01 16:00:00+00:00"
    assert totals(store, project)["spend"] == {"A": (1, 1, 150), "B": (1, 1, 200)}


NOW = utc_now()
AHEAD = [{**EXPOSED[0], "at": NOW + timedelta(hours=5)}, *EXPOSED]
ONE_PERCENT = [
    {**row, "who": None if number % 100 == 7 else row["who"]} for number, row in enumerate(EXPOSED)
]
MIXED = [
    {**row, "paid": "ten" if number % 3 == 0 else str(row["paid"])} for number, row in enumerate(ORDERED)
]


@pytest.mark.parametrize(
    ("rows", "changes", "why"),
    [
        (
            EXPOSED,
            {'visitor = "who"': 'visitor = "user"'},
            "exposures.parquet has no column 'user'; it has id, who",
        ),
        (AHEAD, {}, r"'at' is (5\.0|4\.\d) hours in the future; is time_zone right\?"),
        (
            ONE_PERCENT,
            {},
            "rows are unusable .* and max_bad_share is 0.10%; the first is line 8 of exposures",
        ),
        (EXPOSED, {'control = "A"': 'control = "Z"'}, "no row of 'Checkout' has the control 'Z'"),
        (EXPOSED, {'variant = "arm"\nevent_id = "id"': 'variant = "id"'}, "more than 20 different values"),
        (
            EXPOSED,
            {'event_id = "id"': 'experiment = "id"'},
            "'x0' is no experiment of the project; describe it",
        ),
    ],
)
def test_nothing_is_stored_of_a_bad_source_of_exposures(  # noqa: PLR0917 - cases
    tmp_path: Path, store: WorkingStore, project: Project, rows: Any, changes: dict[str, str], why: str
) -> None:
    write(tmp_path / "exposures.parquet", rows)
    with pytest.raises((UnreadableSourceError, ImportRefusedError), match=why):
        import_described(store, project, describe(tmp_path, "exposures", EXPOSURES, changes))
    assert_nothing_is_stored(store, project)


def assert_nothing_is_stored(store: WorkingStore, project: Project) -> None:
    assert store.catalog.experiments.of_project(project.id) == []
    assert count_by_type(store.warehouse, project.id) == {}
    assert read_watermarks(store.settings.data_dir, project.id) == {}
    assert list(store.settings.staged_imports_path.iterdir()) == []


def test_nothing_is_stored_of_mixed_types_and_few_bad_rows_are_left_out_where_allowed(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    write(tmp_path / "orders.parquet", MIXED)
    with pytest.raises(UnreadableSourceError, match=r"line 1 of orders\.parquet: 'paid' is not an amount"):
        import_described(store, project, describe(tmp_path, "orders", ORDERS))
    assert_nothing_is_stored(store, project)
    allowed = describe(tmp_path, "orders", ORDERS, {"event =": "max_bad_share = 0.5\nevent ="})
    (one,) = import_described(store, project, allowed)
    assert one.imported.rejected == sum(row["paid"] == "ten" for row in MIXED)
    assert one.imported.rows == len(MIXED) - one.imported.rejected


def test_nothing_is_stored_of_a_table_that_changes_while_it_is_read(
    tmp_path: Path, store: WorkingStore, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "exposures.parquet", EXPOSED)
    states = iter(range(10))
    real = disk_files.state_of
    monkeypatch.setattr(disk_files, "state_of", lambda path: real(path)._replace(changed_ns=next(states)))
    with pytest.raises(UnreadableSourceError, match=r"exposures\.parquet changed while it was read"):
        import_described(store, project, describe(tmp_path, "exposures", EXPOSURES))
    assert path.exists()
    assert_nothing_is_stored(store, project)


def test_experiments_are_checked_before_the_first_is_drafted(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    write(
        tmp_path / "exposures.parquet",
        [{**row, "test": "Checkout" if row["arm"] == "A" else "Cart"} for row in EXPOSED],
    )
    second = (
        '\n[[experiments]]\nname = "Cart"\ncontrol = "B"\ngoals = [{ name = "Order", goal_type = "wish" }]\n'
    )
    source = describe(tmp_path, "exposures", EXPOSURES + second, {'event_id = "id"': 'experiment = "test"'})
    with pytest.raises(InvalidDesignError, match=r"goal_type|variants"):
        import_described(store, project, source)
    assert_nothing_is_stored(store, project)


def test_a_variant_that_the_experiment_lacks_is_refused(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    source = describe(tmp_path, "exposures", EXPOSURES)
    write(tmp_path / "exposures.parquet", [row for row in EXPOSED if row["arm"] != "C"])
    import_described(store, project, source)
    before = totals(store, project)
    write(tmp_path / "exposures.parquet", EXPOSED)
    with pytest.raises(ImportRefusedError, match="'Checkout' has no variant 'C'; it has A, B"):
        import_described(store, project, source)
    assert totals(store, project) == before


WITH_VARIANTS = {
    'control = "A"\n': 'control = "A"\nvariants = [{ name = "A", is_control = true }, { name = "B" }]\n'
}


def test_variants_of_a_description_have_their_payloads(tmp_path: Path, store: WorkingStore) -> None:
    project = store.add_project()
    write(tmp_path / "exposures.parquet", EXPOSED)
    listed = (
        'control = "A"\npublic_variants = true\nvariants = [{ name = "A", payload = { columns = 2 } }, '
        '{ name = "B", payload = VALUE }, { name = "C" }]'
    )
    for value, is_json in (
        ("{ at = 2026-01-01 }", False),
        ("[nan]", False),
        ("{ columns = [3, 4.5] }", True),
    ):
        told = listed.replace("VALUE", value)
        source = describe(tmp_path, "exposures", EXPOSURES, {'control = "A"': told})
        if not is_json:
            with pytest.raises(InvalidDesignError, match="payload"):
                import_described(store, project, source)
    import_described(store, project, source)
    (experiment,) = store.catalog.experiments.of_project(project.id)
    assert [one.payload for one in experiment.variants] == [{"columns": 2}, {"columns": [3, 4.5]}, None]


def test_a_variant_that_a_description_does_not_list_is_refused(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    source = describe(tmp_path, "exposures", EXPOSURES, WITH_VARIANTS)
    write(tmp_path / "exposures.parquet", EXPOSED)
    with pytest.raises(ImportRefusedError, match="'Checkout' has no variant 'C'; it has A, B"):
        import_described(store, project, source)
    assert_nothing_is_stored(store, project)


def test_a_first_night_of_the_control_alone_is_refused_until_another_variant_is_known(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    source = describe(tmp_path, "exposures", EXPOSURES)
    controls = [row for row in EXPOSED if row["arm"] == "A"]
    write(tmp_path / "exposures.parquet", controls)
    with pytest.raises(ImportRefusedError, match=r"'Checkout' is not ready to start, .* at least 2 variants"):
        import_described(store, project, source)
    assert_nothing_is_stored(store, project)
    # A variant that is listed is known before its first row.
    listed = store.add_project()
    (first,) = import_described(store, listed, describe(tmp_path, "listed", EXPOSURES, WITH_VARIANTS))
    assert (first.imported.rows, first.experiments[0].status) == (len(controls), "running")
    write(tmp_path / "exposures.parquet", EXPOSED)
    (later,) = import_described(store, project, source)
    assert later.imported.rows == len(EXPOSED)


def test_a_draft_that_lacks_a_part_is_refused_before_its_rows_are_stored(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    fields = {"name": "Checkout", "variants": [{"name": name} for name in "ABC"], "goals": []}
    create_draft(store.catalog, project, fields, now=NOW, actor="test")
    write(tmp_path / "exposures.parquet", EXPOSED)
    with pytest.raises(ImportRefusedError, match=r"'Checkout' is not ready to start, .* at least 1 goal"):
        import_described(store, project, describe(tmp_path, "exposures", EXPOSURES))
    assert count_by_type(store.warehouse, project.id) == {}


def test_new_rows_of_a_completed_experiment_are_left_out_and_others_are_imported(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    second = """
[[experiments]]
name = "Banner"
control = "A"
goals = [{ name = "Order", goal_type = "custom_event", config = { event_name = "order" } }]
"""
    source = describe(tmp_path, "exposures", EXPOSURES + second, {'event_id = "id"': 'experiment = "test"'})
    rows = [{**row, "test": ("Checkout", "Banner")[number % 2]} for number, row in enumerate(EXPOSED)]
    write(tmp_path / "exposures.parquet", rows[50:])
    (first,) = import_described(store, project, source)
    checkout, banner = sorted(first.experiments, key=lambda one: one.name != "Checkout")
    complete = partial(lifecycle.complete, now=utc_now())
    store.catalog.experiments.change(project.id, checkout.id, complete, actor="test")

    # Its further rows may even have variants that it has not.
    rows[0] = {**rows[0], "arm": "D"}
    write(tmp_path / "exposures.parquet", rows)
    (again,) = import_described(store, project, source)
    numbers = again.imported.numbers["rows"]
    assert numbers["new"] + numbers["left_out"] == 50
    assert numbers["left_out"] == sum(row["test"] == "Checkout" for row in rows[:50])
    assert numbers["already_there"] == len(rows) - 50
    assert [one.status for one in again.experiments] == ["running", "completed"]
    assert count_by_type(store.warehouse, project.id) == {"exposure": len(rows) - numbers["left_out"]}
    assert banner.id in {one.id for one in again.experiments}

    # Archived, it is not begun anew by a source that still lists it.
    archive = partial(lifecycle.archive, now=utc_now())
    store.catalog.experiments.change(project.id, checkout.id, archive, actor="test")
    write(tmp_path / "exposures.parquet", [*rows, {**EXPOSED[1], "id": "late", "test": "Checkout"}])
    (later,) = import_described(store, project, source)
    assert later.imported.numbers["rows"]["left_out"] >= 1
    names = [one.name for one in store.catalog.experiments.of_project(project.id)]
    assert sorted(names) == ["Banner", "Checkout"]


@pytest.mark.parametrize("name", ["timestamp", "type", "visitor_id", "kind", "goal_id", "attributes"])
def test_a_segment_may_have_the_name_of_a_field(tmp_path: Path, name: str) -> None:
    write(tmp_path / "orders.parquet", [{**row, name: "pro"} for row in ORDERED])
    write(tmp_path / "exposures.parquet", [{**row, name: "pro"} for row in EXPOSED])
    segments = {'event_id = "id"': f'event_id = "id"\nsegments = ["{name}"]'}
    for path, kind in (
        (describe(tmp_path, "exposures", EXPOSURES, {'"plan"': f'"{name}"'}), "exposure"),
        (describe(tmp_path, "orders", ORDERS, segments), "conversion"),
    ):
        checked = check_source(read_definition(path), tmp_path, now=NOW)
        assert [(row["type"], json.loads(row["custom"])) for row in checked.rows] == [
            (kind, {name: "pro"})
        ] * 10
