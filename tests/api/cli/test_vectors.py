"""Command `vectors`: the published file, and the check of answers to it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.cli.vectors import vectors
from api.sdk.assignment_vectors import FILE
from tests.api.cli.conftest import Run

EXPECTED: list[Any] = [case["expected"] for case in msgspec.json.decode(FILE.read_bytes())["cases"]]


def answers(tmp_path: Path, **changed: object) -> Path:
    """Write the expected answers, with some of them changed."""
    given = [changed.get(f"case_{number}", one) for number, one in enumerate(EXPECTED)]
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(given))
    return path


def test_the_file_is_printed_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    vectors()
    assert capfdbinary.readouterr().out == FILE.read_bytes()


def test_equal_answers_pass_with_skipped_ones_counted(run: Run, tmp_path: Path) -> None:
    ran = run("vectors", answers(tmp_path, case_0="skip"), "--json")
    first, *others = ran.json["groups"]
    assert (ran.status, ran.json["different"]) == (0, [])
    assert (first["group"], first["cases"] - first["equal"], first["skipped"]) == ("split", 1, 1)
    assert all(one["cases"] == one["equal"] for one in others)


def test_a_different_answer_is_shown_with_status_1(run: Run, tmp_path: Path) -> None:
    path = answers(tmp_path, case_5=7)
    ran = run("vectors", path)
    assert ran.status == 1
    assert f"case 5: answered 7, not {EXPECTED[5]}" in ran.out
    (found,) = run("vectors", path, "--json").json["different"]
    assert (found["case"], found["answer"], found["expected"]) == (5, 7, EXPECTED[5])


@pytest.mark.parametrize(("content", "said"), [("[1]", "1 answers to"), ('["one"]', "must be a JSON array")])
def test_answers_that_cannot_be_compared_are_refused_in_one_sentence(
    run: Run, tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "answers.json"
    path.write_text(content)
    ran = run("vectors", path)
    assert ran.status == 1
    assert said in " ".join(ran.err.split())
