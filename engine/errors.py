"""What can go wrong in the engine, as facts a caller can act on."""

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
    """An experiment that would be wrong: every problem found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in the order they were found; there is at least one."""
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in self.problems))


class TransitionError(EngineError):
    """A lifecycle rule said no: `code` names which one, `problems` the fields that it is about, if any."""

    def __init__(self, code: str, message: str, problems: Iterable[Problem] = ()) -> None:
        """Take a stable code (`invalid_transition`, `field_locked`, …) and a sentence for people."""
        self.code = code
        self.message = message
        self.problems = tuple(problems)
        super().__init__(message)


class InvalidEvidenceError(EngineError, ValueError):
    """Numbers that cannot have been observed, such as more conversions than visitors."""


class MissingChartsError(EngineError, ImportError):
    """Something is to be drawn, and what draws is not installed."""


class MissingSamplerError(EngineError, ImportError):
    """A model is to be sampled, and what samples is not installed."""


class SamplingError(EngineError, RuntimeError):
    """The process that samples broke off, or was not done in time."""


class NotConvergedError(EngineError):
    """Chains of draws do not agree, so that nothing can be read off them: `reasons` say why."""

    def __init__(self, reasons: Iterable[str], remedy: str) -> None:
        """Keep the reasons in the order they were found, and what to do about them."""
        self.reasons = tuple(reasons)
        super().__init__(f"the sampled model did not converge: {'; '.join(self.reasons)}. {remedy}")
