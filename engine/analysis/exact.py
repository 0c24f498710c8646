"""Tests and intervals of shares where counts are too small for a normal approximation: Fisher's, with mid-p."""

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.analysis.hypergeometric import log_hypergeometric
from engine.analysis.roots import falling_root
from engine.analysis.tables import Tables

FloatArray = npt.NDArray[np.float64]

# A table is judged exactly while its smallest cell is below this.
SMALL_CELL = 10
# A cell below 10 that lies in a tail has a mean below 60 there, so nothing is left beyond this many terms.
_TERMS = 96
_LOG_ODDS_LIMIT = 700.0


class _Oriented:
    """Tables seen from their smallest cell: `x` there, the sums of its row and column, and the total."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        hits = tables.hits + tables.control_hits
        misses = tables.n + tables.control_n - hits
        cells = np.stack(
            [tables.hits, tables.n - tables.hits, tables.control_hits, tables.control_n - tables.control_hits]
        )
        self.corner = cells.argmin(axis=0)
        self.x = cells.min(axis=0)
        self.row = np.where(self.corner < 2, tables.n, tables.control_n)
        self.column = np.where(self.corner % 2 == 0, hits, misses)
        self.total = hits + misses
        # More in the smallest cell means a higher variant where it counts the variant's hits or the control's misses.
        self.sign = np.where((self.corner == 0) | (self.corner == 3), 1.0, -1.0)

    def log_ratios_up(self, terms: int, start: FloatArray) -> FloatArray:
        """Log of P(x + 1) / P(x) for `terms` values of x from `start` on, in a last axis."""
        x = start[..., None] + np.arange(terms)
        row, column = self.row[..., None], self.column[..., None]
        rest = self.total[..., None] - row - column
        x_to = np.maximum(x + 1.0, 1.0)
        up = np.maximum(row - x, 0.0) * np.maximum(column - x, 0.0) / (x_to * np.maximum(rest + x + 1.0, 1.0))
        with np.errstate(divide="ignore"):
            return np.log(up)

    def lift_at(self, log_odds: FloatArray) -> FloatArray:
        """Relative lift of the table with these margins and this log odds ratio of the smallest cell."""
        odds = np.exp(np.clip(log_odds, -_LOG_ODDS_LIMIT, _LOG_ODDS_LIMIT))
        odds = np.where(np.isinf(log_odds), np.where(log_odds > 0, np.inf, 0.0), odds)
        x = np.where(np.isinf(odds), np.minimum(self.row, self.column), self._cell_at(odds))
        tables = self.tables
        hits = tables.hits + tables.control_hits
        variant = np.select(
            [self.corner == 0, self.corner == 1, self.corner == 2],
            [x, tables.n - x, hits - x],
            hits - tables.control_n + x,
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return variant / tables.n * tables.control_n / (hits - variant) - 1.0

    def _cell_at(self, odds: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", over="ignore"):
            linear = self.total + (self.row + self.column) * (odds - 1.0)
            product = odds * self.row * self.column
            return 2.0 * product / (linear + np.sqrt(linear**2 - 4.0 * (odds - 1.0) * product))


def log_p_mid(tables: Tables) -> FloatArray:
    """Log of Fisher's exact two-sided mid-p for tables with a cell below `SMALL_CELL`.

    Twice the smaller one-sided mid-p (the tail beyond the observed table, and half the table itself), at
    most 1. Lancaster (1961), JASA 56; doubling keeps it dual to a central interval.
    """
    seen = _Oriented(tables)
    # Downwards the ratios of the steps that lead up to x, nearest first; P(-1) = 0 ends them.
    down = -seen.log_ratios_up(SMALL_CELL, seen.x - SMALL_CELL)[..., ::-1]
    reachable = np.arange(SMALL_CELL) < seen.x[..., None]
    below = np.where(reachable, np.cumsum(np.where(reachable, down, 0.0), axis=-1), -np.inf)
    above = np.cumsum(seen.log_ratios_up(_TERMS, seen.x), axis=-1)
    tail = np.minimum(_log_half_plus(below), _log_half_plus(above))
    observed = log_hypergeometric(seen.x, seen.row, seen.column, seen.total)
    return np.minimum(np.log(2.0) + observed + tail, 0.0)


def lift_interval(tables: Tables, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Interval of the relative lift at level 1 - alpha that excludes 0 exactly where mid-p < alpha.

    The odds ratios whose one-sided mid-p given the margins are at least alpha / 2, each turned into the
    lift of the table with the observed margins and that odds ratio. Takes one row of tables; -1 and
    infinity where unbounded.
    """
    seen = _Oriented(tables)
    low, high = np.full(seen.x.shape, -np.inf), np.full(seen.x.shape, np.inf)
    tail = np.log1p(-alpha / 2.0) - np.log(alpha / 2.0)
    bounded = seen.x > 0
    low[bounded] = _log_odds_bound(tables[bounded], alpha, tail)
    bounded = seen.x < np.minimum(seen.row, seen.column)
    high[bounded] = _log_odds_bound(tables[bounded], alpha, -tail)
    first, second = seen.lift_at(low), seen.lift_at(high)
    return np.where(seen.sign > 0, first, second), np.where(seen.sign > 0, second, first)


def _log_odds_bound(tables: Tables, alpha: float, tail: float) -> FloatArray:
    """The log odds ratio at which the odds of the lower tail against the upper have the log `tail`."""
    seen = _Oriented(tables)
    steps = np.cumsum(seen.log_ratios_up(_TERMS, np.zeros_like(seen.x)), axis=-1)
    log_weights = np.concatenate([np.zeros((*seen.x.shape, 1)), steps], axis=-1)
    x = np.arange(_TERMS + 1.0)
    gap = x - seen.x[..., None]
    in_lower = np.select([gap < 0, gap == 0], [1.0, 0.5], 0.0)

    def log_tail_odds(log_odds: FloatArray) -> FloatArray:
        log_terms = log_weights + log_odds[..., None] * x
        terms = np.exp(log_terms - log_terms.max(axis=-1, keepdims=True))
        lower = (terms * in_lower).sum(axis=-1)
        upper = (terms * (1.0 - in_lower)).sum(axis=-1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(lower) - np.log(upper))

    centre, reach = _start(tables, seen, alpha)
    return falling_root(lambda theta: log_tail_odds(theta) - tail, centre - reach, centre + reach)


def _log_half_plus(log_terms: FloatArray) -> FloatArray:
    """Log of one half plus the exponentials along the last axis."""
    half = np.full((*log_terms.shape[:-1], 1), np.log(0.5))
    return np.asarray(special.logsumexp(np.concatenate([half, log_terms], axis=-1), axis=-1))


def _start(tables: Tables, seen: _Oriented, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Log odds ratio with half a visitor added to each cell, and twice the half-width of its interval."""
    hits, misses = tables.hits + 0.5, tables.n - tables.hits + 0.5
    control_hits = tables.control_hits + 0.5
    control_misses = tables.control_n - tables.control_hits + 0.5
    log_odds = np.log(hits * control_misses / (misses * control_hits)) * seen.sign
    spread = np.sqrt(1 / hits + 1 / misses + 1 / control_hits + 1 / control_misses)
    return log_odds, 2.0 * -special.ndtri(alpha / 2.0) * spread
