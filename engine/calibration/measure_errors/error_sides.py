"""Errors of every measure's test on each side, and coverage, by the functions that reports use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.quantiles import enough_beyond
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.calibration.decisions.decision_rates import Bar
from engine.calibration.error_rates import SimulatedFigure
from engine.calibration.measure_errors.measure_cells import MeasureCell, QuantileShape, SummedShape
from engine.calibration.measure_errors.simulated_visitors import ArmSums
from engine.calibration.measure_errors.typical_moments import quantile_label
from engine.calibration.method import FAMILY
from engine.calibration.trials import LEVEL
from engine.design.experiment import Experiment
from engine.frames.frame_experiment import FrameExperiment
from engine.frames.frame_goal import FrameGoal
from engine.frames.seen import Seen
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray, IntArray
from engine.stats.frequentist.quantiles import ValueCounts, compare_quantiles
from engine.stats.value_buckets import count_values

BARS: Final[Mapping[str, Bar]] = {
    "better": Bar(limit=0.035),
    "worse": Bar(limit=0.035),
    "coverage": Bar(limit=0.94, is_least=True),
}
# The lift of which intervals have to hold the truth.
LIFT: Final = 0.1
# Visitors in memory at a time.
_AT_A_TIME: Final = 400_000
# The most goals that an experiment may have.
_GOALS: Final = 50
_ARMS: Final = ("control", "variant")


@dataclass(frozen=True, slots=True)
class Verdicts(ArrayRecord):
    """Verdicts of reports, runs by goals: 1 better, -1 worse, 0 neither; with intervals of the change.

    `truth` is the change that `low` and `high`, NaN without an interval, should hold. There is no verdict
    where not `has_status`: below the minimum of visitors.
    """

    verdict: IntArray
    has_status: BoolArray
    low: FloatArray
    high: FloatArray
    truth: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureErrors:
    """Figures of one cell, as shares of the runs with a status; none where too few have one.

    `better` and `worse` are called so in A/A tests, and `coverage` is of intervals where the lift is LIFT.
    `with_status` is the share of A/A tests with a status.
    """

    cell: MeasureCell
    measure: str
    runs: int
    with_status: SimulatedFigure
    figures: Mapping[str, SimulatedFigure]

    @property
    def name(self) -> str:
        """Label in sentences."""
        return f"{self.measure}, {self.cell.shape.name}, {self.cell.split}"

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the figures that miss their bars."""
        return tuple(name for name, figure in self.figures.items() if not BARS[name].allows(figure))


def calibrate_measures(
    cells: Sequence[MeasureCell], *, runs: int, seed: int
) -> Iterator[tuple[MeasureErrors, ...]]:
    """Simulate each cell `runs` times without and with a lift, cell by cell, with one control for both.

    A cell of quantiles has figures of each. The same seed gives the same figures, whatever the other cells
    are.
    """
    for cell in cells:
        rng = np.random.default_rng([seed, *cell.name.encode()])
        yield tuple(_simulate(cell, runs, rng))


def _simulate(cell: MeasureCell, runs: int, rng: np.random.Generator) -> Iterator[MeasureErrors]:
    step, shape = max(_AT_A_TIME // cell.visitors, 1), cell.shape
    blocks = [min(step, runs - start) for start in range(0, runs, step)]
    if isinstance(shape, QuantileShape):
        measures = [quantile_label(share) for share in shape.shares]
        null, true = _simulate_quantiles(cell, shape, blocks, rng)
    else:
        measures = [shape.measure]
        null, true = _simulate_sums(cell, shape, blocks, rng)
    for goal, measure in enumerate(measures):
        yield MeasureErrors(
            cell=cell,
            measure=measure,
            runs=runs,
            with_status=_share(null.has_status[:, goal]),
            figures=_figures(null[:, goal], true[:, goal]),
        )


def _figures(null: Verdicts, true: Verdicts) -> dict[str, SimulatedFigure]:
    # With fewer, errors are below the bar whatever is called.
    if null.has_status.mean() <= BARS["better"].limit:
        return {}
    called = null.verdict[null.has_status]
    figures = {"better": _share(called > 0), "worse": _share(called < 0)}
    counted = true.has_status & ~np.isnan(true.low)
    if counted.any():
        covers = (true.low <= true.truth) & (true.truth <= true.high)
        figures["coverage"] = _share(covers[counted])
    return figures


def _share(holds: BoolArray) -> SimulatedFigure:
    return SimulatedFigure(float(holds.mean()), float(holds.std() / np.sqrt(holds.size)))


def _drawn(cell: MeasureCell) -> tuple[tuple[int, float], ...]:
    """Visitors and the true factor of the control, of the variant without the lift, and of that with it."""
    control, variant = cell.arms
    return (control, 1.0), (variant, 1.0), (variant, 1.0 + LIFT)


def _simulate_sums(
    cell: MeasureCell, shape: SummedShape, blocks: Sequence[int], rng: np.random.Generator
) -> tuple[Verdicts, Verdicts]:
    """Draw a measure's sums, and test them without and with the lift."""
    drawn = [
        [shape.draw(rng, (runs, visitors), factor) for visitors, factor in _drawn(cell)] for runs in blocks
    ]
    control, same, lifted = (ArmSums.concatenate(arm) for arm in zip(*drawn, strict=True))
    null, true = (
        judge_sums(cell, shape.goal, ArmSums.stack([control, variant], axis=1), lift)
        for variant, lift in ((same, 0.0), (lifted, LIFT))
    )
    return null, true


def judge_sums(cell: MeasureCell, goal: FrameGoal, arms: ArmSums, lift: float) -> Verdicts:
    """Test runs by arms as a report does: runs are the goals of experiments."""
    starts = range(0, len(arms.nonzero), _GOALS)
    return Verdicts.concatenate(
        [_test_goals(cell, goal, arms[start : start + _GOALS], lift) for start in starts]
    )


def _test_goals(cell: MeasureCell, goal: FrameGoal, arms: ArmSums, lift: float) -> Verdicts:
    goals, variants = arms.nonzero.shape
    evidence = Evidence(
        visitors=np.array(cell.arms, np.int64),
        conversions=arms.nonzero.astype(np.int64),
        revenue=arms.value,
        daily=DailyEvidence.none(goals, variants),
        values=None if goal.is_share else arms.values(),
        observed=arms.value.n.astype(np.int64) if goal.may_be_unknown else None,
    )
    experiment = _experiment(cell.arms, goal, goals)
    found = assess_significance(prepare(experiment, evidence, is_finished=True))
    status = found.status[:, 1:]
    return Verdicts(
        verdict=(status == "winner").astype(np.int64) - (status == "loser"),
        has_status=status != "insufficient_data",
        low=found.effects.low[:, 1:],
        high=found.effects.high[:, 1:],
        truth=np.full(status.shape, lift),
    )


@lru_cache(maxsize=8)
def _experiment(arms: tuple[int, int], goal: FrameGoal, goals: int) -> Experiment:
    """Build an experiment with so many goals of one kind."""
    settings = FrameExperiment(
        name="calibration",
        control=_ARMS[0],
        weights=dict(zip(_ARMS, map(float, arms), strict=True)),
        confidence_level=LEVEL,
        traffic_strategy="fixed",
    )
    seen = Seen(variants=_ARMS, first=None, last=None)
    return settings.of(seen, {f"run {run}": goal for run in range(goals)})


def _simulate_quantiles(
    cell: MeasureCell, shape: QuantileShape, blocks: Sequence[int], rng: np.random.Generator
) -> tuple[Verdicts, Verdicts]:
    """Draw visitors' values, and test their quantiles without and with the lift."""
    tested: tuple[list[Verdicts], list[Verdicts]] = ([], [])
    for runs in blocks:
        drawn = [shape.quantiles(rng.random((runs, visitors)), factor) for visitors, factor in _drawn(cell)]
        for values in zip(*drawn, strict=True):
            control, same, lifted = map(count_values, values)
            tested[0].append(_test_quantiles(shape, control, same, factor=1.0))
            tested[1].append(_test_quantiles(shape, control, lifted, factor=1.0 + LIFT))
    return Verdicts.stack(tested[0]), Verdicts.stack(tested[1])


def _test_quantiles(
    shape: QuantileShape, control: ValueCounts, variant: ValueCounts, *, factor: float
) -> Verdicts:
    """Test as a report tests quantiles; the interval of one that is 0 is of the difference."""
    found = compare_quantiles(control, variant, shape.shares, FAMILY)
    has_status = np.array(
        [enough_beyond(QuantileEvidence(share, (control, variant)), 0)[1] for share in shape.shares]
    )
    is_called = has_status & (found.log_p <= np.log(FAMILY))
    before, after = (shape.quantiles(np.array(shape.shares), each) for each in (1.0, factor))
    has_lift = before > 0
    return Verdicts(
        verdict=np.where(is_called, np.sign(found.z), 0.0).astype(np.int64),
        has_status=has_status,
        low=np.where(has_lift, found.lift_low, found.low),
        high=np.where(has_lift, found.lift_high, found.high),
        truth=(after - before) / np.where(has_lift, before, 1.0),
    )
