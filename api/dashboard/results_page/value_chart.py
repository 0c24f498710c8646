"""Distribution of a goal's values: the share of visitors by value, of the control and of one variant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from api.dashboard.results_page.plot import Scale
from engine.analysis.results.formatting import exact_money, figure, share
from engine.analysis.results.report import GoalReport
from engine.analysis.results.variant_result import VariantResult
from engine.currencies import minor_units
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.value_bins import bin_edges, count_in_bins, value_at, without_zeros
from pipeline.results.value_distribution import Distribution

_MOST_BINS: Final = 16
_LABELS: Final = 6
_ROOM: Final = 1.08
# The part of a bin's width that its bars fill.
_FILLED: Final = 0.86
_NOTHING: Final = ValueCounts(np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class ValueBar:
    """A bar in percent of the plot: its place from the left, width, and height."""

    look: str
    at: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class ValueBin:
    """Values from one to another: their place, the bars of the variants, and the numbers in words."""

    at: float
    width: float
    bars: tuple[ValueBar, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueChart:
    """The bins with their axes, and each variant in words."""

    goal: GoalReport
    bins: tuple[ValueBin, ...]
    labels: tuple[tuple[str, float], ...]
    scale: Scale
    variants: tuple[tuple[str, str, str], ...]

    @property
    def summary(self) -> str:
        """The variants in words."""
        variants = "; ".join(f"{name} {text}" for name, _, text in self.variants)
        return f"Values of {self.goal.goal.name}: {variants}"


def has_values(goal: GoalReport) -> bool:
    """Tell whether visitors have a value of a goal each, and not a share of something."""
    return goal.goal.unit != "share" and not goal.goal.measure.is_ratio


def draw_values(
    goal: GoalReport, distribution: Distribution, shown: VariantResult | None
) -> ValueChart | None:
    """Draw the values of the control and of a variant; None without any value."""
    drawn = [one for one in goal.variants if one.is_control or one == shown]
    counts = [distribution.get(one.variant_id or "", _NOTHING) for one in drawn]
    found = [one if goal.goal.measure.is_quantile else without_zeros(one) for one in counts]
    known = [one for one in found if one.n]
    if not known:
        return None
    edges = bin_edges(known, most=_MOST_BINS)
    shares = [count_in_bins(one, edges) / max(one.n, 1.0) for one in found]
    scale = Scale(0.0, _ROOM * max(float(one.max()) for one in shares), share)
    names = [one.variant_name for one in drawn]
    written = [_written(goal, edge) for edge in edges]
    width = 100 / (len(edges) - 1)
    return ValueChart(
        goal=goal,
        bins=tuple(
            ValueBin(
                at=round(place * width, 3),
                width=round(width, 3),
                bars=_bars(place * width, width, [one[place] for one in shares], scale),
                text=_text(goal, written, place, zip(names, (one[place] for one in shares), strict=True)),
            )
            for place in range(len(edges) - 1)
        ),
        labels=tuple(
            (written[place], round(place * width, 3))
            for place in range(0, len(edges) - 1, ceil((len(edges) - 1) / _LABELS))
        ),
        scale=scale,
        variants=tuple(
            (name, f"series-{place}", _in_words(goal, every, one))
            for place, (name, every, one) in enumerate(zip(names, counts, found, strict=True))
        ),
    )


def _bars(left: float, width: float, shares: Sequence[float], scale: Scale) -> tuple[ValueBar, ...]:
    each = _FILLED * width / len(shares)
    return tuple(
        ValueBar(
            look=f"series-{place}",
            at=round(left + (1 - _FILLED) / 2 * width + place * each, 3),
            width=round(each, 3),
            height=round(100 - scale.at(float(one)), 2),
        )
        for place, one in enumerate(shares)
    )


def _text(goal: GoalReport, written: Sequence[str], place: int, shares: Iterable[tuple[str, float]]) -> str:
    is_last = place == len(written) - 2
    values = f"{written[place]} and more" if is_last else f"{written[place]} to {written[place + 1]}"
    unit = f" {goal.summary.currency}" if goal.goal.unit == "cents" else ""
    return f"{values}{unit}: {', '.join(f'{name} {share(float(one))}' for name, one in shares)}"


def _written(goal: GoalReport, value: float) -> str:
    return figure(value / minor_units(goal.summary.currency) if goal.goal.unit == "cents" else value)


def _in_words(goal: GoalReport, every: ValueCounts, counts: ValueCounts) -> str:
    """Say how many visitors have a value, and the median of these."""
    if not counts.n:
        return "no value yet"
    median = value_at(counts, 0.5)
    middle = exact_money(median, goal.summary.currency) if goal.goal.unit == "cents" else figure(median)
    if goal.goal.measure.is_quantile:
        return f"{counts.n:,.0f} values, median about {middle}"
    some = f"{counts.n:,.0f} of {every.n:,.0f} visitors have a value ({share(counts.n / every.n)})"
    return f"{some}, median about {middle}"
