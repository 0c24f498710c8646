"""Facts of a goal for its sentences: bounds of the lift, proven differences, yearly impact."""

from dataclasses import replace
from operator import attrgetter

import numpy as np
import scipy

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.yearly_impact import Selection, yearly_impact
from engine.analysis.decision.established import EQUIVALENCE_LEVEL
from engine.analysis.decision.experiment_decision import Decision
from engine.analysis.evidence.visitor_values import no_pairs
from engine.analysis.results.numbers import interval
from engine.analysis.results.report import YearlyImpact
from engine.analysis.results.variant_result import Interval
from engine.stats.estimates import Estimate
from engine.stats.frequentist.ratio_test import RatioArms
from engine.stats.moments import Moments
from engine.stats.sequential.confidence_sequence_boundary import critical_value
from engine.stats.skewness import PooledCumulants

_LEVEL = 1.0 - EQUIVALENCE_LEVEL


def remaining_lift_intervals(data: AnalysisData, decision: Decision, row: int) -> tuple[Interval | None, ...]:
    """Find the lifts that the one-sided tests of equivalence leave, by variant.

    At the plan those of its one look, by the moments recorded there, where they lie within the margin; else
    those that are left at every look. None where no variant of the goal is established as equivalent.
    """
    if data.pairs is None or not decision.findings.equivalent[row].any():
        return (None,) * len(data.experiment.variants)
    pairs = data.pairs[row]
    always = float(critical_value(data.sample.fraction, EQUIVALENCE_LEVEL))
    low, high = pairs.remaining_lifts(always if np.isfinite(always) else np.nan)
    if data.sample.is_reached:
        recorded = _recorded_moments(data, row)
        if recorded is not None and data.plan.control is not None:
            base = recorded[[data.plan.control]].broadcast_to(recorded.n.shape)
            pairs = replace(
                pairs,
                control=Estimate.of(base),
                variant=Estimate.of(recorded),
                cumulants=PooledCumulants.of(base, recorded),
                # The record has the moments of linearized ratios alone.
                ratios=RatioArms(nothing := no_pairs(recorded.n.shape), nothing),
            )
        lowest, highest = pairs.remaining_lifts(float(-scipy.special.ndtri(EQUIVALENCE_LEVEL)))
        margin = float(data.sample.equivalence_margins[row])
        is_within = (lowest > -margin) & (highest < margin)
        low, high = np.where(is_within, lowest, low), np.where(is_within, highest, high)
    bounds = zip(low.tolist(), high.tolist(), strict=True)
    return tuple(interval(*bound, _LEVEL) for bound in bounds)


def _recorded_moments(data: AnalysisData, row: int) -> Moments | None:
    """Return the moments of a goal at the recorded look, by variant; None without all of them."""
    look = data.sample.recorded
    if look is None or data.by_epoch is not None:
        return None
    arms = look.comparisons.get(data.experiment.goals[row].id, {})
    ids = [variant.id for variant in data.experiment.variants]
    if not set(ids) <= set(arms):
        return None
    parts = attrgetter("n", "mean", "m2", "m3")
    return Moments(*np.array([parts(arms[one]) for one in ids], np.float64).T)


def beaten(data: AnalysisData, decision: Decision, row: int) -> tuple[str, ...]:
    """List the ids of the other winners that the decision's variant is proven better than.

    By the difference of both, at the level of one comparison and by the limit that holds at every look.
    """
    winners = np.flatnonzero(decision.situation.winners)
    if data.pairs is None or decision.variant < 0 or len(winners) < 2:
        return ()
    best = data.pairs.variant[row, [decision.variant]]
    limit = float(critical_value(data.sample.fraction, data.plan.two_sided_alpha))
    found = []
    for column in winners.tolist():
        z = float(best.minus(data.pairs.variant[row, [column]]).z[0])
        if float(data.plan.wanted[row, 0]) * z > limit:
            found.append(data.experiment.variants[column].id)
    return tuple(found)


def yearly_of_leader(data: AnalysisData, decision: Decision, row: int) -> YearlyImpact | None:
    """Estimate the yearly impact of the decision's variant, where the message names it.

    Corrected for the selection of a winner among several variants or at one of several looks.
    """
    column, primary = decision.variant, data.plan.primary
    if row != primary or column < 0 or not _is_named(decision):
        return None
    several = int(decision.situation.is_compared.sum()) > 1
    z = float(decision.statistics.z[row, column])
    looks_many_times = decision.holds_at_every_look and data.sample.source != "finished"
    is_ahead = decision.situation.winners[column] or decision.situation.breaking[column]
    if not is_ahead or not np.isfinite(z) or not (several or looks_many_times):
        return yearly_impact(data, row, column, None)
    alpha = data.plan.two_sided_alpha
    critical = float(-scipy.special.ndtri(alpha / 2.0))
    if looks_many_times:
        critical = float(critical_value(data.sample.fraction, alpha))
    return yearly_impact(data, row, column, Selection(z, critical) if np.isfinite(critical) else None)


def _is_named(decision: Decision) -> bool:
    return decision.recommendation in {"ship", "rollback"} or decision.reason in {
        "guardrail_broken",
        "goal_harmed",
    }
