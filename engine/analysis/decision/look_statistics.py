"""Statistics of one look that the decision rule judges, as arrays."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS, fewest_expected
from engine.analysis.comparison.quantiles import relative_z_of_arms
from engine.analysis.comparison.significance import Significance
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
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
    `has_outcomes` flags pairs with visitors of known outcome, and `lacks_margin` those where the control's
    mean is not above 0, of which no percentage is a margin.
    """

    z: FloatArray
    is_monitored: BoolArray
    is_enough: BoolArray
    above: FloatArray
    below: FloatArray
    margin_z: FloatArray
    log_p_margin: FloatArray
    has_outcomes: BoolArray
    lacks_margin: BoolArray

    @property
    def is_judged(self) -> BoolArray:
        """Whether the margin can be judged: by few conversions, or by enough of them."""
        few = ~np.isnan(self.log_p_margin)
        by_z = self.is_monitored & ~np.isnan(self.margin_z) & ~self.lacks_margin
        return np.asarray(np.where(few, self.has_outcomes, by_z))

    @property
    def is_beyond_margin(self) -> BoolArray:
        """Whether the variant is worse than the margin allows at this look, however slightly."""
        few = ~np.isnan(self.log_p_margin)
        return np.asarray(np.where(few, self.log_p_margin < 0.0, ~(self.margin_z > 0.0)))


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
            has_outcomes=nowhere,
            lacks_margin=nowhere,
        )
    compared = np.arange(shape[1]) != control
    pairs, plan, is_enough = data.pairs, data.plan, significance.is_monitored
    kept, added = plan.allowed_by_margin
    margin = data.sample.equivalence_margins[:, None]
    bounds, margin_z = pairs.equivalence(margin), pairs.relative_z(kept, added)
    for row, quantile in data.evidence.quantiles.items():
        bounds.above[row] = relative_z_of_arms(quantile, control, 1.0 - float(margin[row, 0]))
        bounds.below[row] = -relative_z_of_arms(quantile, control, 1.0 + float(margin[row, 0]))
        margin_z[row] = relative_z_of_arms(quantile, control, float(kept[row, 0]), float(added[row, 0]))
    is_counted = ~data.is_mean[:, None] & (data.by_epoch is None)
    log_p_margin = log_p_of_few(
        data.evidence.conversions,
        data.evidence.trials,
        control,
        kept=np.where(is_counted & (added == 0.0), kept, np.nan),
        wanted=plan.wanted,
    )
    return LookStatistics(
        z=np.where(compared, _one_look_z(data, significance), np.nan),
        is_monitored=is_enough & compared,
        is_enough=significance.is_enough & compared,
        above=np.where(compared, bounds.above, np.nan),
        below=np.where(compared, bounds.below, np.nan),
        margin_z=np.where(compared, plan.wanted * margin_z, np.nan),
        log_p_margin=np.where(compared, log_p_margin, np.nan),
        has_outcomes=(data.evidence.trials > 0) & (data.evidence.trials[:, [control]] > 0),
        lacks_margin=_lacks_margin(data, pairs.control.value, kept, is_enough),
    )


def _lacks_margin(data: AnalysisData, mean: FloatArray, kept: FloatArray, is_enough: BoolArray) -> BoolArray:
    """Flag pairs of which no percentage is a margin: the control's mean is below 0, or 0 by enough data.

    None of shares, of which few are judged by their split, and none of 0%, which is 0 of any mean.
    """
    not_above = (mean < 0) | ((mean == 0) & is_enough)
    return np.asarray(data.is_mean[:, None] & (kept != 1.0) & not_above)


def _one_look_z(data: AnalysisData, significance: Significance) -> FloatArray:
    """Return the z of a single look; 0 where a Bayesian posterior shows no gain in spite of it."""
    is_doubted = data.plan.is_bayesian & (significance.z > 0) & ~(significance.gain > 0)
    return np.where(is_doubted, 0.0, significance.z)


def log_p_of_few(
    conversions: npt.ArrayLike,
    visitors: npt.ArrayLike,
    control: int,
    *,
    kept: FloatArray,
    wanted: FloatArray,
) -> FloatArray:
    """Test the split of few conversions against a margin, in the harmful direction; the log p.

    `conversions` (…, G, V), `visitors` (…, V) or (…, G, V). `kept` is the share of the control's rate at the
    margin, NaN where there is none, and `wanted` 1 or -1, both columns of goals. NaN where conversions are
    not few.
    """
    hits, n = np.asarray(conversions, np.float64), np.asarray(visitors, np.float64)
    n = n if n.ndim == hits.ndim else n[..., None, :]
    of_control, control_n = hits[..., [control]], n[..., [control]]
    log_p = log_p_split(of_control, control_n, hits, n, ratio=kept)
    expected = kept * of_control * n / np.maximum(control_n, 1)
    is_mean = np.zeros(hits.shape[-2], bool)
    few = fewest_expected(conversions, visitors, control, is_mean=is_mean) < FEWEST_CONVERSIONS
    is_harm = wanted * (hits - expected) < 0
    return np.where(few & ~np.isnan(kept), np.where(is_harm, log_p, 0.0), np.nan)
