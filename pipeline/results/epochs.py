"""Evidence by weight epoch, from sums."""

import numpy as np
import polars as pl

from engine.analysis.evidence.epochs import EpochEvidence
from engine.design.experiment import Experiment
from engine.measures.sums import AMOUNT, MONEY
from engine.stats.delta_method import with_ratios
from pipeline.results.exact_sums import Place, moments_of
from pipeline.results.goal_amounts import cells_of, ratios_from, with_amounts

_PLACE = ("epoch", "goal", "variant")


def epochs_from(experiment: Experiment, cells: pl.DataFrame) -> EpochEvidence:
    """Arrange sums by epoch, goal and variant.

    `cells` are those of `read_epochs`, aligned to the experiment.
    """
    epochs = experiment.weight_epochs
    shape = (len(epochs), len(experiment.goals), len(experiment.variants))
    counted = cells.filter((pl.col("variant") < shape[2]) & (pl.col("sum") == MONEY.name))
    place = _place(counted)
    by_goal = {name: np.zeros(shape, np.int64) for name in ("visitors", "settled", "observed", "conversions")}
    for name, counts in by_goal.items():
        counts[place] = counted[name].to_numpy()
    # Every counted goal has the same visitors; a new one has none yet.
    visitors = by_goal["visitors"].max(axis=1)
    n = by_goal["observed"]
    of_variants = cells.filter(pl.col("variant") < shape[2])
    revenue, amounts = (
        moments_of(n, sums, _place(sums), cohort="") for sums in (counted, cells_of(of_variants, AMOUNT))
    )
    ratios = ratios_from(experiment, of_variants, n, _place, cohort="")
    return EpochEvidence(
        started_at=tuple(epoch.started_at for epoch in epochs),
        weights=np.array(
            [[epoch.weights.get(one.id, 0.0) for one in experiment.variants] for epoch in epochs], np.float64
        ),
        visitors=visitors,
        settled=by_goal["settled"].max(axis=1),
        conversions=by_goal["conversions"],
        observed=by_goal["observed"],
        revenue=revenue,
        values=with_ratios(with_amounts(experiment, revenue, amounts), ratios),
    )


def _place(cells: pl.DataFrame) -> Place:
    return tuple(cells[name].to_numpy() for name in _PLACE)
