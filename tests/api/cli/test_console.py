"""Terminal output: results on one stream, errors on the other."""

import json

import pytest

from api.cli.console import print_error, print_json


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
