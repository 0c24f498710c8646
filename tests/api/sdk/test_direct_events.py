"""Direct answers are those of the usual way: status, headers, bodies, log lines, counts and stored events."""

import json

import pytest

from tests.api.sdk.recorded_requests import ALL, METHODS, RECORDED, TRACK, RecordedRequest
from tests.api.sdk.recording import Answer, all_answers
from tests.api.server.exchanges import Way

_RECORDED: dict[str, Answer] = json.loads(RECORDED.read_text())
Both = dict[bool, tuple[dict[str, Answer], Way]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    ways = [Way(is_direct=True), Way(is_direct=False)]
    return {way.is_direct: (all_answers(tmp_path_factory.mktemp("store"), way), way) for way in ways}


@pytest.mark.parametrize("is_direct", [True, False])
@pytest.mark.parametrize("name", _RECORDED)
def test_the_answer_is_as_recorded(both: Both, name: str, *, is_direct: bool) -> None:
    recorded = dict(_RECORDED[name])
    if name in METHODS and METHODS[name].method == "HEAD":
        # The server leaves it out.
        recorded["body"] = ""
    assert both[is_direct][0][name] == recorded


def test_the_same_requests_are_counted(both: Both) -> None:
    direct, usual = (both[is_direct][1].counts for is_direct in (True, False))
    assert direct == usual
    assert sum(direct[0].values()) > 100


def test_small_requests_of_browsers_that_are_whole_are_answered_directly(both: Both) -> None:
    expected = [name for name, request in ALL.items() if _is_plain(request)]
    assert len(expected) > 30
    assert len(both[True][1].seen) == len(expected)
    assert {path for path, _ in both[True][1].seen} == {TRACK}
    assert both[False][1].seen == []


def _is_plain(request: RecordedRequest) -> bool:
    parts = request.parts_of({})
    return (
        request.method == "POST"
        and request.target.partition("?")[0] == TRACK
        and not {"authorization", "content-encoding", "content-length"} & set(request.headers)
        and len(parts) == 1
        and len(parts[0]) <= 2**13
        and not request.leaves
    )
