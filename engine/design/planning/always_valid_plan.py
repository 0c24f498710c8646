"""Plans of always-valid tests: the mean z that gives their power, by the day on which the plan is reached."""

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.design.planning.plan_days import FIRST_DAY, LAST_DAY
from engine.design.planning.required_sample import POWER
from engine.design.planning.stopping import Stopping
from engine.stats.arrays import FloatArray

# Days on which a plan may be reached.
PLAN_DAYS: Final = np.arange(FIRST_DAY, LAST_DAY + 1.0)
# The plan day where the pace of visitors is not known yet.
_USUAL_DAY: Final = 28
# Days whose drift is solved for; between them it is all but linear in 1/day.
_SOLVED_DAYS: Final = (7, 8, 10, 14, 28, 56)


def drift_by_day(day: npt.ArrayLike, alpha: float, power: float = POWER) -> FloatArray:
    """Compute the mean z at the plan that gives the power to one comparison, by the day of the plan.

    A winner is shipped from FIRST_DAY on, so that the daily looks from then to the plan count. With one look
    it is c + z_power, c being the critical value of the confidence sequence at the plan; each further look
    lowers it. Days are clipped to those of PLAN_DAYS; `alpha` is two-sided.
    """
    days, drifts = _solved(alpha, power)
    at = 1.0 / np.clip(np.asarray(day, np.float64), FIRST_DAY, LAST_DAY)
    return np.asarray(np.interp(at, 1.0 / days[::-1], drifts[::-1]))


def drift_at_pace(
    required: FloatArray, per_day: npt.ArrayLike, alpha: float, power: float = POWER
) -> FloatArray:
    """Take the drift of the first day on which the visitors so far are those that its plan requires.

    `required` are the visitors of a plan with `drift_by_day(PLAN_DAYS)`, days along the last axis; `per_day`
    the new visitors of a day. Where no day is reached, that of the last day; of day 28 where visitors or pace
    are not known (NaN or 0).
    """
    pace = np.asarray(per_day, np.float64)
    reached = pace[..., None] * PLAN_DAYS >= required
    day = PLAN_DAYS[np.where(reached.any(axis=-1), reached.argmax(axis=-1), -1)]
    is_known = (pace > 0) & ~np.isnan(required).all(axis=-1)
    return drift_by_day(np.where(is_known, day, _USUAL_DAY), alpha, power)


@lru_cache(maxsize=64)
def _solved(alpha: float, power: float) -> tuple[FloatArray, FloatArray]:
    drifts = [
        Stopping("always_valid", looks=day, first_look=FIRST_DAY).drift(power, alpha) for day in _SOLVED_DAYS
    ]
    return np.array(_SOLVED_DAYS, np.float64), np.array(drifts)
