"""Command `import`: files that come again, and several files as one."""

from pathlib import Path

import pytest

from tests.api.cli.conftest import Run
from tests.api.cli.imports.imported_files import CLEAR, SMALL, append_visitors, counts, goal_named, report_of


@pytest.mark.usefixtures("account")
def test_importing_a_file_twice_counts_it_once(run: Run, tmp_path: Path, small_file: Path) -> None:
    first = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    again = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    assert (first.status, again.status) == (0, 0)
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (500, 100), "B": (500, 100)}


@pytest.mark.usefixtures("account")
def test_a_second_file_adds_its_visitors_and_the_first_again_none(
    run: Run, tmp_path: Path, clear_file: Path
) -> None:
    first = run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    assert "4,000 rows: 4,000 new, 0 already there. 4,450 events: 4,450 new, 0 already there." in first.out
    again = run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    assert "4,000 rows: 0 new, 4,000 already there. 4,450 events: 0 new, 4,450 already there." in again.out
    clear_file.write_text("who,arm,bought\n")
    append_visitors(clear_file, "other", buyers=(300, 300))
    run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (4_000, 500), "B": (4_000, 550)}


@pytest.mark.usefixtures("account")
def test_several_files_are_read_as_one_and_named_with_their_bad_rows(run: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("who,arm,bought\nv1,A,1\n")
    two.write_text("who,arm,bought\nv2,B,0\nv1,A,1\nv3,B,perhaps\n")
    ran = run("import", one, two, "--data-dir", tmp_path, *CLEAR, "--json")
    assert "two.csv line 4: 'bought' is neither 1 nor 0" in ran.err
    assert ran.json["rows"] == {
        "read": 4,
        "new": 3,
        "already_there": 0,
        "of_known_visitors": 0,
        "left_out": 0,
        "rejected": 1,
        "at_repeated_times": 0,
    }
    assert ran.json["events"] == {"new": 5, "already_there": 0}
    twice = run("import", one, one, "--data-dir", tmp_path, *CLEAR)
    assert twice.status == 1
    # The path before it is of any length, and wraps.
    assert "isnamedtwice" in "".join(twice.err.split())


@pytest.mark.usefixtures("account")
def test_rows_with_other_values_for_a_visitor_are_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "visitors.csv"
    path.write_text("who,arm,bought\nv1,A,0\nv2,B,0\n")
    run("import", path, "--data-dir", tmp_path, *CLEAR)
    path.write_text("who,arm,bought\nv1,A,1\nv2,B,0\n")
    ran = run("import", path, "--data-dir", tmp_path, *CLEAR)
    assert "2 rows: 1 new, 1 already there." in ran.out
    assert "1 of the new rows have the visitor of a row that was already there: both count" in ran.out


@pytest.mark.usefixtures("account")
def test_without_visitor_ids_a_further_file_is_new_visitors_and_says_so(run: Run, tmp_path: Path) -> None:
    anonymous = ("--variant", "arm", "--control", "A", "--goal", "bought", "--name", "Test")
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("arm,bought\n" + "A,1\nB,0\nB,1\n" * 10)
    two.write_text("arm,bought\n" + "A,0\nB,0\n" * 10)
    run("import", one, "--data-dir", tmp_path, *anonymous)
    other = run("import", two, "--data-dir", tmp_path, *anonymous)
    assert "20 rows: 20 new, 0 already there." in other.out
    assert "Without --visitor every new row is a new visitor." in other.out
    again = run("import", one, "--data-dir", tmp_path, *anonymous)
    assert "30 rows: 0 new, 30 already there." in again.out
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (20, 10), "B": (30, 10)}
