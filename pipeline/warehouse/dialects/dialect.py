"""Dialect: the operations in which engines differ and sqlglot does not translate."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

Expr = exp.Expr


def exact_quotient(number: Expr, divisor: Expr) -> Expr:
    """Divide what has no remainder left, so that no engine rounds: where there is no integer division."""
    return exp.paren(number.copy() - number.copy() % divisor.copy()) / divisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A dialect of SQL, by the `name` that sqlglot has for it.

    `wide` is the type of sums with at least 38 digits. `microseconds` takes a time to those since 1970 in
    UTC; a time without an offset is in UTC. `quotient` divides whole numbers that are not negative.
    `explain` is what comes before a statement that is only to be checked; empty where that is no SQL.
    `settings` are statements of a session that counts, and `timeout` is one with its `{seconds}`; empty where
    the connection ends a statement, or a run's options do. `is_run` tells whether our tests run it: other
    dialects are compiled and parsed.
    """

    name: str
    wide: exp.DataType
    microseconds: Callable[[Expr], Expr]
    quotient: Callable[[Expr, Expr], Expr] = exact_quotient
    explain: str = "EXPLAIN "
    settings: tuple[str, ...] = ()
    timeout: str = ""
    is_run: bool = False

    def session(self, timeout_seconds: int) -> tuple[str, ...]:
        """List the statements of a session whose statements end after so many seconds."""
        return (*self.settings, *([self.timeout.format(seconds=timeout_seconds)] if self.timeout else []))
