"""Answers of a collector are those of the process that owns the store."""

import json

import pytest

from tests.api.collectors.linked import collector_of
from tests.api.sdk.recorded_requests import RECORDED
from tests.api.sdk.recording import Answer, all_answers

_RECORDED: dict[str, Answer] = json.loads(RECORDED.read_text())


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    return all_answers(tmp_path_factory.mktemp("recorded"), collector_of)


def test_every_recorded_request_is_answered(answers: dict[str, Answer]) -> None:
    assert list(answers) == list(_RECORDED)


@pytest.mark.parametrize("name", _RECORDED)
def test_the_answer_is_as_recorded(answers: dict[str, Answer], name: str) -> None:
    assert answers[name] == _RECORDED[name]
