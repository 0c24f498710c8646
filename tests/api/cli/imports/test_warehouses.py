"""Commands `source sql`, `source verify`, `source check` and `import` of a warehouse."""

from pathlib import Path

import pytest

from pipeline.sources.definition_files import FOLDER
from pipeline.verification import sample_shop
from tests.api.cli.conftest import Run
from tests.pipeline.warehouse.described_warehouse import SOURCE, a_warehouse, described


@pytest.mark.usefixtures("account")
def test_a_warehouse_is_checked_counted_and_printed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    a_warehouse(folder)
    checked = run("source", "check", "--data-dir", tmp_path)
    assert checked.status == 0
    assert checked.out.splitlines() == [
        "shop: 566 rows in duckdb",
        "  Checkout: A, B; its statement is planned",
    ]
    counted = run("import", "--data-dir", tmp_path)
    assert counted.status == 0
    assert "shop: 566 rows were counted where they are, and" in counted.out
    assert "Checkout" in counted.out
    printed = [
        run("source", "sql", folder / "shop.toml", "Checkout", "--data-dir", tmp_path, *dialect).out
        for dialect in ((), ("--dialect", "bigquery"), ("--dialect", "snowflake"))
    ]
    limited = "-- Its session: ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 1800;"
    assert ["\nWITH " in f"\n{text}" for text in printed] == [True] * 3
    assert [limited in text.splitlines() for text in printed] == [False, False, True]
    assert ["HUGEINT" in text or "INT128" in text for text in printed] == [True, False, False]
    assert ["BIGNUMERIC" in text for text in printed] == [False, True, False]


@pytest.mark.usefixtures("account")
def test_what_cannot_be_printed_is_refused_in_a_sentence(run: Run, tmp_path: Path) -> None:
    a_warehouse(tmp_path)
    file = tmp_path / "shop.toml"
    unknown = run("source", "sql", file, "Checkout", "--data-dir", tmp_path)
    assert (unknown.status, "there is no experiment 'Checkout'" in unknown.err) == (1, True)
    oracle = run("source", "sql", file, "Checkout", "--data-dir", tmp_path, "--dialect", "oracle")
    assert (oracle.status, "'oracle' is no dialect" in oracle.err) == (2, True)


def test_a_check_refuses_too_many_rows_and_a_table_that_is_not_there(run: Run, tmp_path: Path) -> None:
    a_warehouse(tmp_path)
    for change, reason in (
        (SOURCE.replace("10_000", "9"), "max_rows is 9"),
        (SOURCE.replace('"orders"', '"sales"'), "sales does not exist"),
    ):
        described(tmp_path, "shop.duckdb", change)
        refused = run("source", "check", tmp_path / "shop.toml", "--data-dir", tmp_path)
        assert (refused.status, reason in " ".join(refused.err.split())) == (4, True), refused.err


def test_a_verification_says_how_many_sums_are_equal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The hour with a warehouse verifies all of them, on PostgreSQL.
    monkeypatch.setattr(sample_shop, "EXPERIMENTS", 1)
    a_warehouse(tmp_path)
    verified = run("source", "verify", tmp_path / "shop.toml", "--json")
    assert verified.status == 0
    assert verified.json["differences"] == []
    assert (verified.json["experiments"], verified.json["sums"] > 50) == (1, True)
