"""Errors of the engine, with the facts that a caller needs."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one value: `field` is a path such as `variants[1].weight`."""

    field: str
    message: str


class EngineError(Exception):
    """Base of every error the engine raises on purpose."""


class InvalidDesignError(EngineError):
    """An invalid experiment, with every problem found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in the order they were found; there is at least one."""
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in self.problems))


class TransitionError(EngineError):
    """A change that the lifecycle does not allow: `code` names the rule, `problems` the fields, if any."""

    def __init__(self, code: str, message: str, problems: Iterable[Problem] = ()) -> None:
        """Take a stable code (`invalid_transition`, `field_locked`, …) and a message."""
        self.code = code
        self.message = message
        self.problems = tuple(problems)
        super().__init__(message)


class InvalidEvidenceError(EngineError, ValueError):
    """Numbers that cannot have been observed, such as more conversions than visitors."""


class MissingSamplerError(EngineError, ImportError):
    """A model to be sampled without a sampler installed."""


class SamplingError(EngineError, RuntimeError):
    """The sampler process failed, or exceeded its time limit."""


class NotConvergedError(EngineError):
    """Chains that did not converge, with the `reasons`."""

    def __init__(self, reasons: Iterable[str], remedy: str) -> None:
        """Keep the reasons in the order they were found, and what to do about them."""
        self.reasons = tuple(reasons)
        super().__init__(f"the sampled model did not converge: {'; '.join(self.reasons)}. {remedy}")
