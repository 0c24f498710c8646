"""Statistics of one look that the decision rule judges, as arrays."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS, expected_conversions, is_monitored
from engine.analysis.comparison.significance import Significance
from engine.analysis.comparison.stratified import Pairs
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.frequentist.equivalence import equivalence, relative_z
from engine.stats.sequential.conversion_split import log_p_split


@dataclass(frozen=True, slots=True, kw_only=True)
class LookStatistics(ArrayRecord):
    """Every variant against the control at one look: any leading axes, goals by variants last.

    `z` is that of a single two-sided test, positive where the variant is better. `is_monitored` flags
    comparisons with enough expected conversions for the confidence sequence, `is_enough` those with enough
    data for a single look. `above` and `below` are the z of the two equivalence tests. For guardrails
    `margin_z` is negative where the variant is worse than the margin allows, and `log_p_margin` is the log p,
    valid at every look, of the exact test that judges instead where conversions are few; both are NaN for
    other goals, and `log_p_margin` where conversions are not few. NaN where there is no number.
    """

    z: FloatArray
    is_monitored: BoolArray
    is_enough: BoolArray
    above: FloatArray
    below: FloatArray
    margin_z: FloatArray
    log_p_margin: FloatArray


def look_statistics(data: AnalysisData, significance: Significance) -> LookStatistics:
    """Compute the statistics of this look, goals by variants; NaN in the control's column."""
    shape = data.evidence.conversions.shape
    control, nowhere, nothing = data.plan.control, np.zeros(shape, bool), np.full(shape, np.nan)
    if control is None or data.pairs is None:
        return LookStatistics(
            z=nothing,
            is_monitored=nowhere,
            is_enough=nowhere,
            above=nothing,
            below=nothing,
            margin_z=nothing,
            log_p_margin=nothing,
        )
    compared = np.arange(shape[1]) != control
    margin = data.sample.equivalence_margins[:, None]
    pairs = data.pairs
    bounds = equivalence(pairs.control, pairs.variant, margin=margin, cumulants=pairs.cumulants)
    return LookStatistics(
        z=np.where(compared, significance.z, np.nan),
        is_monitored=is_monitored(data, control) & compared,
        is_enough=significance.is_enough & compared,
        above=np.where(compared, bounds.above, np.nan),
        below=np.where(compared, bounds.below, np.nan),
        margin_z=np.where(compared, _margin_z(data, pairs), np.nan),
        log_p_margin=np.where(compared, _log_p_margin(data, control), np.nan),
    )


def _kept(data: AnalysisData) -> FloatArray:
    """Return the share of the control's mean at each guardrail's margin, as a column; NaN elsewhere."""
    kept: FloatArray = 1.0 - data.plan.wanted * data.plan.margins[:, None]
    return kept


def _margin_z(data: AnalysisData, pairs: Pairs) -> FloatArray:
    z = relative_z(pairs.control, pairs.variant, ratio=_kept(data), cumulants=pairs.cumulants)
    return np.asarray(data.plan.wanted * z)


def _log_p_margin(data: AnalysisData, control: int) -> FloatArray:
    """Test the split of few conversions; NaN unless it is of a conversion guardrail, in the harmful way."""
    evidence, wanted, kept = data.evidence, data.plan.wanted, _kept(data)
    hits, visitors = evidence.conversions, evidence.visitors
    log_p = log_p_split(hits[:, [control]], visitors[control], hits, visitors, ratio=kept)
    expected = kept * hits[:, [control]] * visitors / np.maximum(visitors[control], 1)
    few = expected_conversions(data, control) < FEWEST_CONVERSIONS
    is_counted = few & ~data.is_mean[:, None] & (data.by_epoch is None) & ~np.isnan(kept)
    is_harm = wanted * (hits - expected) < 0
    return np.where(is_counted, np.where(is_harm, log_p, 0.0), np.nan)
