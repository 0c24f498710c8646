import pytest

from engine.errors import Problem
from pipeline.store.catalog.errors import (
    CatalogError,
    InvalidRecordError,
    KeyInUseError,
    KeyReusedError,
    NotFoundError,
    PlanLimitError,
)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NotFoundError("project", "prj_1"), "there is no project 'prj_1'"),
        (
            InvalidRecordError([Problem("name", "is missing"), Problem("url", "is no URL")]),
            "name: is missing; url: is no URL",
        ),
        (
            PlanLimitError("free", 1),
            "the free plan's allowance of 1 is used up; delete a project or move to a larger plan",
        ),
    ],
)
def test_a_message_gives_what_is_wrong(error: CatalogError, message: str) -> None:
    assert str(error) == message


def test_an_invalid_record_keeps_its_problems_in_order() -> None:
    problems = [Problem("url", "is no URL"), Problem("name", "is missing")]
    assert list(InvalidRecordError(iter(problems)).problems) == problems


def test_a_long_id_is_shortened_in_the_message() -> None:
    assert len(str(NotFoundError("project", "x" * 10_000))) < 500


@pytest.mark.parametrize("error", [KeyInUseError, KeyReusedError])
def test_every_error_is_a_catalog_error(error: type[Exception]) -> None:
    assert issubclass(error, CatalogError)
