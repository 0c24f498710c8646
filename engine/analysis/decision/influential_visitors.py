"""Influential visitors: findings that one visitor makes."""

import numpy as np
import scipy

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.influence import LEAST_CHANGE, Influence
from engine.analysis.decision.established import Established, GoalRoles
from engine.analysis.decision.look_statistics import LookStatistics
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.sequential.confidence_sequence_boundary import critical_value


def find_turns(  # noqa: PLR0913  # a look, its findings, and the terms of its boundary
    data: AnalysisData,
    influence: Influence | None,
    look: LookStatistics,
    findings: Established,
    *,
    roles: GoalRoles,
    boundary: FloatArray | None,
) -> BoolArray:
    """Flag the findings that one visitor makes, goals by variants: none where the visitors are not known.

    Without that visitor, or two together, the comparison is no longer beyond the limit that the finding
    rests on, and it has lost LEAST_CHANGE standard errors. `boundary` is the critical |z| of the primary goal
    of a group-sequential experiment.
    """
    if influence is None:
        return np.zeros(look.z.shape, bool)
    limit = np.full((look.z.shape[0], 1), _limit(data, data.plan.two_sided_alpha))
    if boundary is not None and not data.sample.is_reached:
        limit[roles.is_primary] = boundary
    is_on_its_side = (findings.wins & (look.z > 0)) | (findings.loses & (look.z < 0))
    is_lost = np.abs(look.z) - influence.lost < limit
    turned = is_on_its_side & is_lost & (influence.lost >= LEAST_CHANGE)
    harm_limit = _limit(data, roles.guardrail_alpha)
    is_kept = look.margin_z + influence.lost_of_margin > -harm_limit
    broken = findings.broken & is_kept & (influence.lost_of_margin >= LEAST_CHANGE)
    return np.asarray(np.where(roles.is_guardrail[:, None], broken, turned))


def _limit(data: AnalysisData, alpha: float) -> float:
    """Return the critical |z| of this look: that of the one look at the plan from there on."""
    if data.sample.is_reached:
        return float(-scipy.special.ndtri(alpha / 2.0))
    return float(critical_value(data.sample.fraction, alpha))
