"""Fisher's exact mid-p and its interval of the lift, for few conversions."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables
from engine.stats.frequentist.hypergeometric import log_hypergeometric
from engine.stats.roots import falling_root

# Tables with a smallest cell below this are tested exactly.
SMALL_CELL = 10
# Where a cell below 10 lies in a tail, its mean is below 60: further terms are negligible.
_TERMS = 96
# Odds beyond exp(±this) are the same to every digit, and the search ends there.
_LOG_ODDS_LIMIT = 300.0


def log_p_mid(tables: Tables) -> FloatArray:
    """Compute the log of Fisher's exact two-sided mid-p, for tables with a cell below `SMALL_CELL`.

    Twice the smaller one-sided mid-p (the tail beyond the observed table, and half the table itself), at
    most 1. Lancaster (1961), JASA 56; doubling keeps it dual to a central interval.
    """
    seen = _Corner.of(tables)
    # The ratios that lead up to x, taken backwards from it: at most x of them, as P(-1) = 0.
    steps = -seen.log_ratios(seen.x - SMALL_CELL, SMALL_CELL)[..., ::-1]
    reachable = np.arange(SMALL_CELL) < seen.x[..., None]
    below = np.where(reachable, np.cumsum(np.where(reachable, steps, 0.0), axis=-1), -np.inf)
    above = np.cumsum(seen.log_ratios(seen.x, _TERMS), axis=-1)
    tail = np.minimum(_log_half_plus(below), _log_half_plus(above))
    observed = log_hypergeometric(seen.x, seen.row, seen.column, seen.total)
    log_p: FloatArray = np.minimum(np.log(2.0) + observed + tail, 0.0)
    return log_p


def lift_interval(tables: Tables, alpha: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Compute the interval of the relative lift that excludes 0 exactly where mid-p < alpha.

    The odds ratios whose one-sided mid-p given the margins is at least alpha / 2, each turned into the
    lift of the table with the observed margins and that odds ratio. Takes one row of tables and one
    `alpha`, or one each; -1 and infinity where unbounded.
    """
    seen = _Corner.of(tables)
    low, high = np.full(seen.x.shape, -np.inf), np.full(seen.x.shape, np.inf)
    each = np.broadcast_to(np.asarray(alpha, np.float64), seen.x.shape)
    log_tail_odds = np.log1p(-each / 2.0) - np.log(each / 2.0)
    bounded = seen.x > 0
    low[bounded] = _log_odds_where(tables[bounded], log_tail_odds[bounded], each[bounded])
    bounded = seen.x < np.minimum(seen.row, seen.column)
    high[bounded] = _log_odds_where(tables[bounded], -log_tail_odds[bounded], each[bounded])
    at_low, at_high = seen.lift_at(tables, low), seen.lift_at(tables, high)
    return np.where(seen.raises, at_low, at_high), np.where(seen.raises, at_high, at_low)


@dataclass(frozen=True, slots=True)
class _Corner:
    """Tables reordered by their smallest cell: its count `x`, the sums of its row and column, and the total.

    `cell` is 0 for the variant's hits, 1 for its misses, 2 and 3 for the control's.
    """

    cell: FloatArray
    x: FloatArray
    row: FloatArray
    column: FloatArray
    total: FloatArray

    @classmethod
    def of(cls, tables: Tables) -> Self:
        hits = tables.hits + tables.control_hits
        misses = tables.n + tables.control_n - hits
        cells = np.stack(
            [tables.hits, tables.n - tables.hits, tables.control_hits, tables.control_n - tables.control_hits]
        )
        cell = cells.argmin(axis=0).astype(np.float64)
        row = np.where(cell < 2, tables.n, tables.control_n)
        return cls(cell, cells.min(axis=0), row, np.where(cell % 2 == 0, hits, misses), hits + misses)

    @property
    def raises(self) -> BoolArray:
        """True where a larger cell means a higher lift: the variant's hits and the control's misses."""
        raises: BoolArray = (self.cell == 0) | (self.cell == 3)
        return raises

    def log_ratios(self, start: FloatArray, terms: int) -> FloatArray:
        """Log of P(x + 1) / P(x) for `terms` values of x from `start` on, along a last axis.

        -inf from the largest possible x on; without meaning below 0.
        """
        x = start[..., None] + np.arange(terms)
        row, column = self.row[..., None], self.column[..., None]
        # Not negative: the cell is the smallest, so the one opposite is no smaller.
        opposite = np.maximum(self.total[..., None] - row - column + x + 1.0, 1.0)
        up = np.maximum(row - x, 0.0) * np.maximum(column - x, 0.0) / (np.maximum(x + 1.0, 1.0) * opposite)
        log_up: FloatArray = np.log(up, out=np.full(up.shape, -np.inf), where=up > 0)
        return log_up

    def lift_at(self, tables: Tables, log_odds: FloatArray) -> FloatArray:
        """Relative lift of the table with these margins and this log odds ratio of the cell."""
        odds = np.exp(np.clip(log_odds, -_LOG_ODDS_LIMIT, _LOG_ODDS_LIMIT))
        linear = self.total + (self.row + self.column) * (odds - 1.0)
        product = odds * self.row * self.column
        # The root of the table's quadratic that lies between the margins, without subtracting near-equals.
        inner = 2.0 * product / (linear + np.sqrt(linear**2 - 4.0 * (odds - 1.0) * product))
        most = np.where(log_odds == np.inf, np.minimum(self.row, self.column), inner)
        x = np.where(log_odds == -np.inf, 0.0, most)
        hits = tables.hits + tables.control_hits
        by_cell = [x, tables.n - x, hits - x, hits - tables.control_n + x]
        variant = np.choose(self.cell.astype(np.int64), by_cell)
        control_share = (hits - variant) / tables.control_n
        lift = np.full(x.shape, np.inf)
        np.divide(variant / tables.n, control_share, out=lift, where=control_share > 0)
        return lift - 1.0


def _log_odds_where(tables: Tables, log_tail_odds: FloatArray, alpha: FloatArray) -> FloatArray:
    """Find the log odds ratio of the smallest cell whose lower tail over its upper one has these odds."""
    seen = _Corner.of(tables)
    steps = np.cumsum(seen.log_ratios(np.zeros_like(seen.x), _TERMS), axis=-1)
    log_weights = np.concatenate([np.zeros((*seen.x.shape, 1)), steps], axis=-1)
    x = np.arange(_TERMS + 1.0)
    gap = x - seen.x[..., None]
    # Each tail has half of the observed table.
    in_lower = np.where(gap < 0, 1.0, np.where(gap == 0, 0.5, 0.0))

    def excess(log_odds: FloatArray) -> FloatArray:
        log_terms = log_weights + log_odds[..., None] * x
        terms = np.exp(log_terms - log_terms.max(axis=-1, keepdims=True))
        lower, upper = (terms * in_lower).sum(axis=-1), (terms * (1.0 - in_lower)).sum(axis=-1)
        tiny = np.finfo(np.float64).tiny
        found: FloatArray = np.log(np.maximum(lower, tiny)) - np.log(np.maximum(upper, tiny)) - log_tail_odds
        return found

    centre, reach = _rough_log_odds(tables, seen, alpha)
    # The lower bound comes with a positive goal, the upper one with a negative.
    side = np.sign(log_tail_odds) * reach
    return falling_root(excess, centre - np.maximum(side, 0.0), centre - np.minimum(side, 0.0))


def _rough_log_odds(tables: Tables, seen: _Corner, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log odds ratio with half a visitor added to each cell, and about the half-width of its interval."""
    hits, misses = tables.hits + 0.5, tables.n - tables.hits + 0.5
    control_hits = tables.control_hits + 0.5
    control_misses = tables.control_n - tables.control_hits + 0.5
    log_odds = np.log(hits) - np.log(misses) - np.log(control_hits) + np.log(control_misses)
    spread = np.sqrt(1 / hits + 1 / misses + 1 / control_hits + 1 / control_misses)
    return np.where(seen.raises, log_odds, -log_odds), -scipy.special.ndtri(alpha / 2.0) * spread


def _log_half_plus(log_terms: FloatArray) -> FloatArray:
    """Log of one half plus the exponentials along the last axis."""
    half = np.full((*log_terms.shape[:-1], 1), np.log(0.5))
    return np.asarray(scipy.special.logsumexp(np.concatenate([half, log_terms], axis=-1), axis=-1))
