"""Errors carry the facts that callers act on, beside their message."""

import pytest

from engine.errors import (
    EngineError,
    InvalidDesignError,
    InvalidEvidenceError,
    NotConvergedError,
    Problem,
    TransitionError,
)


def test_an_invalid_design_lists_every_problem_in_order() -> None:
    problems = [Problem("name", "is empty"), Problem("variants[1].weight", "is negative")]
    error = InvalidDesignError(problems)
    assert error.problems == tuple(problems)
    assert str(error) == "name: is empty; variants[1].weight: is negative"


def test_a_refused_transition_has_a_code_and_a_message() -> None:
    error = TransitionError("field_locked", "the URL is locked", [Problem("url", "is locked")])
    assert (error.code, str(error), len(error.problems)) == ("field_locked", "the URL is locked", 1)


def test_chains_that_did_not_converge_come_with_reasons_and_a_remedy() -> None:
    error = NotConvergedError(["R-hat is 1.2"], "Raise `draws`.")
    assert error.reasons == ("R-hat is 1.2",)
    assert str(error) == "the sampled model did not converge: R-hat is 1.2. Raise `draws`."


@pytest.mark.parametrize(
    ("kind", "base"), [(InvalidEvidenceError, ValueError), (InvalidDesignError, EngineError)]
)
def test_errors_are_caught_by_their_base(kind: type[Exception], base: type[Exception]) -> None:
    assert issubclass(kind, base)
    assert issubclass(kind, EngineError)
