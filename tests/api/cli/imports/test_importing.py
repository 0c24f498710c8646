"""Command `import`: rows that count, rows and files that are refused, and events."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from api.cli.stores import opened_store
from tests.api.cli.conftest import Run
from tests.api.cli.imports.imported_files import CLEAR, SMALL, counts, goal_named, report_of
from tests.api.cli.owners import owned_by_another_process


@pytest.mark.usefixtures("account")
def test_bad_rows_are_named_by_line_and_the_rest_counts(run: Run, tmp_path: Path, small_file: Path) -> None:
    ran = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    assert ran.status == 0
    assert "line 1002: has no usable visitor id" in ran.err
    assert "line 1003: 'bought' is neither 1 nor 0" in ran.err
    report = report_of(tmp_path)
    assert counts(goal_named(report, "bought")) == {"A": (500, 100), "B": (500, 100)}
    # 0.5 + 2.5 + … + 998.5 and 1.5 + 3.5 + … + 999.5, in cents.
    assert [arm.revenue_cents for arm in goal_named(report, "spend").variants] == [24_975_000, 25_025_000]


@pytest.mark.usefixtures("account")
def test_folders_and_databases_have_the_rows_of_files(run: Run, tmp_path: Path, clear_file: Path) -> None:
    rows = pl.read_csv(clear_file)
    for number, part in enumerate(rows.iter_slices(1_000)):
        folder = tmp_path / "visitors" / f"part={number}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "rows.parquet")
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE visitors AS FROM read_csv(?)", [str(clear_file)])
    (tmp_path / "all.sql").write_text("SELECT who, arm, bought FROM visitors;\n")
    again = ("--data-dir", tmp_path, *CLEAR, "--name", "Test", "--json")
    first = run("import", tmp_path / "visitors", *again)
    others = ("already_there", "of_known_visitors", "left_out", "rejected", "at_repeated_times")
    nothing_else = dict.fromkeys(others, 0)
    assert first.json["rows"] == {"read": 4_000, "new": 4_000, **nothing_else}
    for location, *options in (
        (tmp_path / "visitors" / "*" / "rows.parquet",),
        (tmp_path / "shop.duckdb", "--table", "visitors"),
        (tmp_path / "shop.duckdb", "--sql", tmp_path / "all.sql"),
    ):
        ran = run("import", location, *options, *again)
        assert (ran.json["rows"]["new"], ran.json["rows"]["already_there"]) == (0, 4_000)
    twice = run("import", tmp_path / "shop.duckdb", "--table", "a", "--sql", tmp_path / "all.sql", *again)
    assert (twice.status, "not both" in twice.err) == (2, True)


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--variant", "page", "--control", "A", "--goal", "bought"), "has no column 'page'"),
        (("--variant", "arm", "--control", "C", "--goal", "bought"), "no row of 'arm' is the control 'C'"),
        (("--variant", "who", "--control", "v1", "--goal", "bought"), "more than 20 different values"),
    ],
)
def test_a_file_that_means_something_else_leaves_nothing_behind(
    run: Run, tmp_path: Path, small_file: Path, options: tuple[str, ...], why: str
) -> None:
    ran = run("import", small_file, "--data-dir", tmp_path, *options)
    assert ran.status == 1
    assert why in ran.err.replace("\n", " ")
    with opened_store(tmp_path) as store:
        (project,) = store.catalog.projects.all()
        assert store.catalog.experiments.of_project(project.id) == []


@pytest.mark.usefixtures("account")
def test_a_store_that_is_served_says_how_to_go_on(run: Run, tmp_path: Path, small_file: Path) -> None:
    with owned_by_another_process(tmp_path):
        ran = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    assert ran.status == 1
    assert "is in use by process" in ran.err.replace("\n", " ")


def test_a_store_without_an_account_says_what_to_run(run: Run, tmp_path: Path, small_file: Path) -> None:
    ran = run("import", small_file, "--data-dir", tmp_path / "empty", *SMALL)
    assert ran.status == 1
    assert "truelift init" in ran.err


@pytest.mark.usefixtures("account")
def test_a_file_of_events_counts_like_events_that_were_sent(
    run: Run, tmp_path: Path, small_file: Path
) -> None:
    run("import", small_file, "--data-dir", tmp_path, *SMALL)
    with opened_store(tmp_path) as store:
        (project,) = store.catalog.projects.all()
        (experiment,) = store.catalog.experiments.of_project(project.id)
    control = experiment.variants[0].id
    lines = [
        {"type": "exposure", "visitor_id": "late", "experiment_id": experiment.id, "variant_id": control},
        {"type": "conversion", "visitor_id": "late", "goal_id": experiment.goals[0].id},
        {
            "type": "exposure",
            "visitor_id": "undefined",
            "experiment_id": experiment.id,
            "variant_id": control,
        },
    ]
    columns = ["event_id", "type", "visitor_id", "experiment_id", "variant_id", "goal_id"]
    rows = [
        ",".join(str({"event_id": f"late-{number}", **line}.get(name, "")) for name in columns)
        for number, line in enumerate(lines)
    ]
    events = tmp_path / "events.csv"
    events.write_text("\n".join([",".join(columns), *rows]) + "\n")
    ran = run("import", events, "--data-dir", tmp_path)
    assert ran.status == 0
    assert "line 4: invalid_visitor_id" in ran.err
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (501, 101), "B": (500, 100)}
