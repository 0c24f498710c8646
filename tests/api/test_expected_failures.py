"""Expected failures: each of the table exists, and a group is expected where all of it is."""

from importlib import import_module

import pytest

from api.expected_failures import EXPECTED_FAILURES, is_expected
from engine.errors import EngineError
from pipeline.store.catalog.errors import CatalogBusyError


@pytest.mark.parametrize(("module", "name"), EXPECTED_FAILURES.items())
def test_every_expected_failure_is_there(module: str, name: str) -> None:
    assert issubclass(getattr(import_module(module), name), Exception)


def test_a_group_is_expected_where_all_of_its_failures_are() -> None:
    mistakes = [EngineError("a mistake"), ExceptionGroup("inner", [CatalogBusyError("away")])]
    assert is_expected(ExceptionGroup("all", mistakes))
    assert not is_expected(ExceptionGroup("one more", [*mistakes, ValueError("a defect")]))
