"""Terminal output: results on one stream, errors on the other."""

import json

import pytest

from api.cli.console import out, print_error, print_json


def test_json_is_one_line_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"id": "acc_1", "name": "x" * 300})
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"id": "acc_1", "name": "x" * 300}
    assert (captured.out.count("\n"), captured.err) == (1, "")


def test_an_error_is_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("no such file")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.split() == ["error", "no", "such", "file"]


def test_an_error_is_one_line_with_its_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("cannot connect:\n\tinstall truelift[postgres]" + " and try again" * 20)
    printed = capsys.readouterr().err
    assert printed.startswith("error cannot connect: install truelift[postgres] and try again")
    assert printed.count("\n") == 1


def test_names_of_customers_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    out.print("Account Shop [bold] [new]")
    assert capsys.readouterr().out.strip() == "Account Shop [bold] [new]"
