"""Cells under calibration: a measure, the shape of its values, a split and a number of visitors."""

from dataclasses import dataclass
from typing import Final

from engine.calibration.measure_errors.quantile_values import (
    Inverse,
    quantiles_of_lognormal,
    quantiles_of_poisson,
    quantiles_of_seconds,
    quantiles_of_two_modes,
    quantiles_with_zeros,
)
from engine.calibration.measure_errors.simulated_visitors import (
    Draw,
    draw_adjusted,
    draw_clicks,
    draw_converted,
    draw_counts,
    draw_pareto_views,
    draw_per_order,
    draw_retained,
    draw_returns,
    draw_revenue,
    draw_values,
    lognormal_sizes,
)
from engine.calibration.trials import ORDERS
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Count, Ratio, Retained, Revenue, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedShape:
    """Values of a goal that is tested by sums over visitors."""

    measure: str
    name: str
    goal: FrameGoal
    draw: Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileShape:
    """Values that are tested on their quantiles at `shares`."""

    name: str
    quantiles: Inverse
    shares: tuple[float, ...] = (0.5, 0.9)
    measure: str = "quantile"


ValueShape = SummedShape | QuantileShape


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureCell:
    """A measure in an experiment: `visitors` of both arms, `uneven` of the control for one of the variant."""

    shape: ValueShape
    visitors: int
    uneven: int

    @property
    def arms(self) -> tuple[int, int]:
        """Visitors of the control and of the variant."""
        variant = self.visitors // (self.uneven + 1)
        return self.visitors - variant, variant

    @property
    def split(self) -> str:
        """Visitors of both arms as text."""
        return " : ".join(f"{arm:,}" for arm in self.arms)

    @property
    def name(self) -> str:
        """Label of the cell."""
        return f"{self.shape.measure}, {self.shape.name}, {self.split}"


_PER_ORDER: Final = Revenue(orders="orders")
_SESSIONS: Final = Ratio("returned", "sessions")
_VIEWS: Final = Ratio("clicks", "views")

SHAPES: Final[tuple[ValueShape, ...]] = (
    *(
        SummedShape(measure="converted", name=f"{rate:.1%}", goal=Converted(), draw=draw_converted(rate))
        for rate in (0.005, 0.05, 0.3)
    ),
    *(
        SummedShape(
            measure="retained", name=f"{rate:.0%}", goal=Retained(window=14), draw=draw_retained(rate)
        )
        for rate in (0.05, 0.2)
    ),
    *(
        SummedShape(
            measure="revenue",
            name=f"10% buy, lognormal {deviation:g}",
            goal=Revenue(),
            draw=draw_revenue(0.1, lognormal_sizes(deviation)),
        )
        for deviation in (1.0, 1.5)
    ),
    SummedShape(
        measure="revenue",
        name="10% buy, Pareto 2.5",
        goal=Revenue(),
        draw=draw_revenue(0.1, ORDERS["pareto"]),
    ),
    *(
        SummedShape(
            measure="revenue per order",
            name=f"10% buy, lognormal {deviation:g}",
            goal=_PER_ORDER,
            draw=draw_per_order(0.1, deviation),
        )
        for deviation in (1.0, 1.5)
    ),
    SummedShape(measure="count", name="negative binomial, mean 1.5", goal=Count(), draw=draw_counts(1.5)),
    SummedShape(
        measure="value", name="normal, mean 1, deviation 3", goal=Value(), draw=draw_values(1.0, 3.0)
    ),
    *(
        SummedShape(
            measure="ratio",
            name=f"money per session, {rate:.1%} return",
            goal=_SESSIONS,
            draw=draw_returns(rate),
        )
        for rate in (0.005, 0.03)
    ),
    SummedShape(measure="ratio", name="clicks per view", goal=_VIEWS, draw=draw_clicks(3.0, 0.3)),
    SummedShape(
        measure="ratio", name="clicks per view, Pareto 1.2", goal=_VIEWS, draw=draw_pareto_views(1.2)
    ),
    SummedShape(
        measure="revenue, CUPED",
        name="returning visitors",
        goal=Revenue(covariates="past"),
        draw=draw_adjusted(0.3, per_order=False),
    ),
    SummedShape(
        measure="revenue per order, CUPED",
        name="returning visitors",
        goal=Revenue(orders="orders", covariates="past"),
        draw=draw_adjusted(0.3, per_order=True),
    ),
    *(
        QuantileShape(name=name, quantiles=quantiles)
        for name, quantiles in (
            ("Poisson, mean 2.67", quantiles_of_poisson(2.67)),
            ("whole seconds", quantiles_of_seconds),
            ("two modes", quantiles_of_two_modes),
            ("55% zeros", quantiles_with_zeros),
            ("lognormal 1", quantiles_of_lognormal(1.0, 1.0)),
        )
    ),
)
# Visitors of both arms together.
_SIZES: Final = (2_000, 20_000)
_UNEVEN: Final = (1, 9)

CELLS: Final[tuple[MeasureCell, ...]] = tuple(
    MeasureCell(shape=shape, visitors=visitors, uneven=uneven)
    for shape in SHAPES
    for visitors in _SIZES
    for uneven in _UNEVEN
)
