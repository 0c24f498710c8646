"""CSV files as Excel writes them, by country and by menu."""

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.api.cli.conftest import Run
from tests.pipeline.imports.described_sources import ORDERS, describe

# Six visitors, one with an amount of over a thousand, and a note with a line break and a quote.
ROWS: Final = [
    *(("v1", "A", "31.01.2026 12:00", "yes", "1.234,50"), ("v2", "B", "31.01.2026 12:01", "no", "0")),
    *(("v3", "A", "31.01.2026 12:02", "No", ""), ("v4", "B", "01.02.2026 12:03", "YES", "12,5")),
    *(("v5", "A", "01.02.2026 12:04", "y", "7,25"), ("v6", "B", "01.02.2026 12:05", "N", "0")),
]
CENTS: Final = 123_450 + 1_250 + 725


def text_of(delimiter: str) -> str:
    lines = [
        ("who", "arm", "at", "bought", "spend", "note"),
        *((*row, 'said "so"\r\nand left') for row in ROWS),
    ]
    quoted = (['"' + cell.replace('"', '""') + '"' for cell in line] for line in lines)
    # Excel quotes what needs it: here are quotes everywhere but for the names.
    first, *others = [delimiter.join(line) for line in quoted]
    return "\r\n".join([first.replace('"', ""), *others, ""])


FORMS: Final[dict[str, Callable[[], bytes]]] = {
    "CSV UTF-8, with semicolons": lambda: codecs.BOM_UTF8 + text_of(";").encode(),
    "CSV UTF-8, with commas": lambda: codecs.BOM_UTF8 + text_of(",").encode(),
    "Unicode text": lambda: codecs.BOM_UTF16_LE + text_of("\t").encode("utf-16-le"),
    "the other way round": lambda: codecs.BOM_UTF16_BE + text_of(";").encode("utf-16-be"),
    "with a line that names the delimiter": lambda: b"sep=;\r\n" + text_of(";").encode(),
}
COLUMNS: Final = ("--variant", "arm", "--control", "A", "--goal", "bought", "--goal", "spend:revenue")


@pytest.mark.usefixtures("account")
def test_every_form_is_imported_with_the_same_numbers(run: Run, tmp_path: Path) -> None:
    found = []
    for place, content in enumerate(FORMS.values()):
        (path := tmp_path / f"form{place}.csv").write_bytes(content())
        named = (*COLUMNS, "--visitor", "who", "--timestamp", "at")
        done = run("import", path, *named, "--data-dir", tmp_path, "--json")
        assert (done.status, "skipped" in done.err) == (0, False), done.err
        out = tmp_path / "report.json"
        stored = (done.json["experiment_id"], "--data-dir", tmp_path, "--format", "json", "--out", out)
        assert run("report", *stored).status == 0
        report = json.loads(out.read_text())
        analyzed = run("analyze", path, *named, "--json").json
        for one in (report, analyzed):
            goals = {goal["goal"]["name"]: goal["variants"] for goal in one["goals"]}
            found.append(
                (
                    sum(variant["conversions"] for variant in goals["bought"]),
                    sum(variant["revenue_cents"] or 0 for variant in goals["spend"]),
                )
            )
    assert found == [(3, CENTS)] * 2 * len(FORMS)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("who;arm;bought\nMüller;A;1\n".encode("cp1252"), "save it as `CSV UTF-8` in Excel"),
        ("who;arm;bought\nv1;A;1\n".encode("utf-16-le"), "save it as `CSV UTF-8` in Excel"),
        (b"who;arm;bought\nv1;A;WAHR\n", "'bought' is neither 1 nor 0 (true or false, yes or no)"),
    ],
)
@pytest.mark.usefixtures("account")
def test_what_cannot_be_read_is_refused_with_what_to_do(
    run: Run, tmp_path: Path, content: bytes, why: str
) -> None:
    (path := tmp_path / "visits.csv").write_bytes(content)
    named = ("--variant", "arm", "--control", "A", "--goal", "bought", "--visitor", "who")
    done = run("import", path, *named, "--data-dir", tmp_path)
    assert (done.status, why in " ".join(done.err.split())) == (1, True)


def test_amounts_of_two_meanings_and_refunds_of_none_are_told_with_their_lines(
    run: Run, tmp_path: Path
) -> None:
    rows = ["v1;31.01.2026;1.234;n1;a;ja", "v2;31.01.2026;12,50;n2;b;maybe", "v3;01/02/2026;7,25;n3;c;no"]
    (tmp_path / "orders.csv").write_text("\n".join(["who;at;paid;order_number;id;back", *rows, ""]))
    path = describe(tmp_path, "orders", f'{ORDERS}refund = "back"\n', {"parquet": "csv"})
    checked = run("source", "check", path, "--data-dir", tmp_path, "--json")
    assert checked.status == 4
    assert [one["reason"] for one in checked.json["sources"][0]["rejected"]] == [
        "'paid' 1.234 may be two numbers; write 1234.5 or 1234,50",
        "'back' is neither 1 nor 0 (true or false, yes or no)",
        "'at' 01/02/2026 may be of two days; write dates as 2026-01-31",
    ]
