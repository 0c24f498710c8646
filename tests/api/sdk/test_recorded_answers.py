"""Answers of the SDK endpoints, header by header and byte by byte, as they are recorded."""

import json

import pytest

from tests.api.sdk.recorded_requests import RECORDED
from tests.api.sdk.recording import Answer, all_answers

_RECORDED: dict[str, Answer] = json.loads(RECORDED.read_text())


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    return all_answers(tmp_path_factory.mktemp("recorded"))


def test_every_request_is_recorded(answers: dict[str, Answer]) -> None:
    assert list(answers) == list(_RECORDED)
    statuses = {answer.get("status") for answer in _RECORDED.values()}
    assert statuses >= {200, 204, 400, 401, 402, 403, 404, 405, 413, 415, 422, 429, 500, 503, None}


@pytest.mark.parametrize("name", _RECORDED)
def test_the_answer_is_as_recorded(answers: dict[str, Answer], name: str) -> None:
    assert answers[name] == _RECORDED[name]
