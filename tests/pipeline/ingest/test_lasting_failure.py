import logging

import pytest

from pipeline.disk_space import DiskFullError
from pipeline.ingest.lasting_failure import LastingFailure


@pytest.fixture
def failure() -> LastingFailure:
    return LastingFailure(logging.getLogger(__name__), begins="nothing is stored", ends="stored again")


def test_a_reason_is_logged_once_while_it_lasts(
    failure: LastingFailure, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        failure.note(DiskFullError("the disk is full"))
    failure.note(ValueError("another reason"))
    failure.end()
    failure.end()
    failure.note(DiskFullError("the disk is full"))
    assert caplog.messages == [
        "nothing is stored: the disk is full",
        "nothing is stored: another reason",
        "stored again",
        "nothing is stored: the disk is full",
    ]


def test_only_an_unexpected_error_has_a_traceback(
    failure: LastingFailure, caplog: pytest.LogCaptureFixture
) -> None:
    failure.note(DiskFullError("the disk is full"))
    failure.note(ValueError("another reason"))
    assert [record.exc_info is not None for record in caplog.records] == [False, True]
