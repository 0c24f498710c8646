"""Commands `source check` and `import` of described sources."""

from pathlib import Path

import pytest

from pipeline.sources.definition_files import FOLDER
from tests.api.cli.conftest import Run
from tests.pipeline.imports.described_sources import EXPOSURES, ORDERS, describe, shop_rows, write_shop


@pytest.mark.usefixtures("account")
def test_sources_of_the_data_folder_are_imported_together_and_again(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    exposures, orders = shop_rows(400)
    write_shop(folder, exposures, orders)
    describe(folder, "exposures", EXPOSURES)
    describe(folder, "orders", ORDERS)
    first = run("import", "--data-dir", tmp_path)
    assert (first.status, first.err.count("unusable")) == (0, 0)
    assert f"exposures: {len(exposures)} rows: {len(exposures)} new, 0 already there." in first.out
    assert "Checkout" in first.out
    again = run("import", "--data-dir", tmp_path, "--json").json["sources"]
    assert [one["rows"]["new"] for one in again] == [0, 0]
    assert again[1]["watermark"]["rows"] == len(orders)
    checked = run("source", "check", "--data-dir", tmp_path, "--json").json["sources"]
    assert [(one["source"], len(one["rows"])) for one in checked] == [("exposures", 10), ("orders", 10)]
    (mark,) = checked[1]["watermarks"].values()
    assert mark == again[1]["watermark"]
    both = run(
        "import", folder / "orders.parquet", "--source", folder / "orders.toml", "--data-dir", tmp_path
    )
    assert (both.status, "name files and their columns, or --source" in " ".join(both.err.split())) == (
        2,
        True,
    )


def test_a_check_shows_rows_as_they_are_understood(run: Run, tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(
        "who,at,paid,order_number,id\nv1,2025-10-26 02:30,-7.5,n1,a\nv2,later,1,n2,b\n"
    )
    changes = {'"orders.parquet"': '"orders.csv"\ntime_zone = "Europe/Berlin"'}
    path = describe(tmp_path, "orders", ORDERS, changes)
    (checked,) = run("source", "check", path, "--data-dir", tmp_path, "--json").json["sources"]
    (row,) = checked["rows"]
    assert (row["time"], row["type"], row["visitor_id"]) == ("2025-10-26T00:30:00Z", "conversion", "v1")
    assert (row["event_name"], row["revenue_cents"], row["is_refund"]) == ("order", 750, True)
    assert checked["rejected"] == [{"line": 3, "reason": "'at' is not a time such as 2026-01-31 12:00:00"}]
    shown = run("source", "check", path, "--data-dir", tmp_path)
    assert "revenue_cents 750" in shown.out
    assert "line 3 is unusable" in shown.out
    assert "such rows would be refused: 1 of 2 rows are unusable (50.00%), and max_bad_share is" in shown.out
    assert shown.status == 4
    assert "1 rows have a local time that the clocks showed twice; it was read as the first" in shown.out


@pytest.mark.usefixtures("account")
def test_a_wrong_source_is_refused_as_a_whole_and_those_after_it_are_imported(
    run: Run, tmp_path: Path
) -> None:
    write_shop(tmp_path, *shop_rows(100))
    good = describe(tmp_path, "exposures", EXPOSURES)
    wrong = describe(tmp_path, "orders", ORDERS, {'"paid"': '"price"'})
    none = describe(tmp_path, "none", "kind =")
    last = describe(tmp_path, "refunds", ORDERS, {'"order"': '"refund"'})
    described = [word for path in (none, good, wrong, last) for word in ("--source", path)]
    ran = run("import", *described, "--data-dir", tmp_path)
    assert ran.status == 4
    message = " ".join(ran.err.split())
    assert "nothing of the source orders was imported: orders.parquet has no column 'price'" in message
    assert "2 of 4 sources failed: none, orders; verdicts that need them wait" in message
    # The others are imported and counted.
    assert [line.partition(":")[0] for line in ran.out.splitlines()[:2]] == ["exposures", "refunds"]
    again = run("import", *described, "--data-dir", tmp_path, "--json")
    assert [one["source"] for one in again.json["sources"]] == ["exposures", "refunds"]
    assert [one["source"] for one in again.json["failed"]] == ["none", "orders"]
    (counted,) = run("rollup", "--data-dir", tmp_path, "--json").json["runs"]
    assert (counted["status"], counted["result"].get("updated"), counted["result"].get("recounted")) == (
        "done",
        [],
        [],
    )
    describe(tmp_path, "orders", ORDERS, {"revenue": "income"})
    ran = run("source", "check", wrong, good, "--data-dir", tmp_path)
    assert (ran.status, "columns.income is no key of a source" in " ".join(ran.err.split())) == (4, True)
    assert "exposures: exposures of exposures.parquet" in ran.out


@pytest.mark.usefixtures("account")
def test_a_full_disk_is_reported_in_a_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shop(tmp_path, *shop_rows(100))
    source = describe(tmp_path, "exposures", EXPOSURES)
    monkeypatch.setenv("TRUELIFT_MIN_FREE_DISK_BYTES", str(2**60))
    ran = run("import", "--source", source, "--data-dir", tmp_path)
    assert (ran.status, "MiB free" in ran.err, "Traceback" in ran.err) == (4, True, False)
