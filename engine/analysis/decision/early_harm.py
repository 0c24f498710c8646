"""Harm of a ramp's first visitors: a confidence sequence that is tuned to few of them."""

from typing import Final

import numpy as np
import numpy.typing as npt

from engine.analysis.decision.established import GoalRoles
from engine.analysis.decision.look_statistics import LookStatistics
from engine.stats.arrays import BoolArray
from engine.stats.sequential import confidence_sequence_boundary

# Known outcomes that the sequence is tuned to: that of the plan is blind to the first ones.
TUNED_TO: Final = 2_000
# Share of the level of one comparison, beside that of the plan's own sequence.
SHARE_OF_LEVEL: Final = 0.2


def early_harm(look: LookStatistics, *, roles: GoalRoles, alpha: float, visitors: npt.ArrayLike) -> BoolArray:
    """Flag losses of the primary goal and broken guardrails, in the shape of the look's statistics.

    `alpha` is the two-sided level of one comparison, and `visitors` are all known outcomes, with the leading
    axes.
    """
    at = np.asarray(visitors, np.float64)[..., None, None] / TUNED_TO
    loss = confidence_sequence_boundary.critical_value(at, SHARE_OF_LEVEL * alpha)
    breach = confidence_sequence_boundary.critical_value(at, SHARE_OF_LEVEL * roles.guardrail_alpha)
    loses = (look.z < -loss) & roles.is_primary[:, None] & ~roles.is_guardrail[:, None]
    broken = (look.margin_z < -breach) & roles.is_guardrail[:, None]
    return np.asarray((loses | broken) & look.is_monitored)
