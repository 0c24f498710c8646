"""Split of the visitors in each weight epoch, against the expected shares."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.frequentist.chi_square import GoodnessOfFit, goodness_of_fit


@dataclass(frozen=True, slots=True)
class SampleSplit:
    """Visitors of each epoch and the shares they should split by, epochs by variants, with their test.

    `visitors` are those certainly split by the epoch's shares; one epoch where weights never changed.
    """

    visitors: IntArray
    shares: FloatArray
    test: GoodnessOfFit


def split_visitors(data: AnalysisData) -> SampleSplit:
    """Compare the visitors of each epoch, or their clusters, with its weights."""
    epochs = data.evidence.epochs
    if epochs is None:
        visitors, shares = data.evidence.assigned[None], np.asarray(data.plan.shares)[None]
    else:
        visitors, shares = epochs.settled, epochs.shares
    return SampleSplit(visitors, shares, goodness_of_fit(visitors, shares))
