"""Cases under calibration: those of the command, and all for which the bars are promised."""

from dataclasses import replace
from typing import Final

from engine.calibration.decisions.decision_case import NEVER, DecisionCase, DecisionMethod

_RATES: Final = (0.005, 0.05, 0.3)
_PLAN_DAYS: Final = (7.0, 10.0, 28.0, 45.0, NEVER)
_EVEN: Final = (1.0, 1.0)
_UNEVEN: Final = (9.0, 1.0)
_THREE: Final = (1.0,) * 3
_FIVE: Final = (1.0,) * 5
_OTHER_METHODS: Final[tuple[DecisionMethod, ...]] = (
    "planned",
    "always valid",
    "group sequential",
    "one-sided",
    "Bayesian",
)

_SHARES: Final = DecisionCase(rate=0.05, plan_day=28.0)
# Day-14 retention of 20% at 800 visitors a day.
_RETENTION: Final = DecisionCase(rate=0.2, plan_day=31.3, known_after=14)
_REVENUE: Final = DecisionCase(rate=0.05, plan_day=28.0, orders="lognormal", minimum_effect=0.2)
# 1 → 5 → 25 → 100% of the traffic.
_RAMPED: Final = replace(_SHARES, ramp=((0.01, 2), (0.05, 2), (0.25, 3)))
# Margins as wide as an effect so small that the variances of both hardly differ.
_GUARDED: Final = replace(_SHARES, minimum_effect=0.02, guardrail=0.02)

DEFAULT_CASES: Final[tuple[DecisionCase, ...]] = (
    _SHARES,
    replace(_SHARES, rate=0.005, plan_day=10.0),
    replace(_SHARES, rate=0.3, plan_day=45.0),
    replace(_SHARES, plan_day=NEVER),
    replace(_SHARES, weights=_UNEVEN),
    replace(_SHARES, weights=_THREE),
    *(replace(_SHARES, method=method) for method in _OTHER_METHODS),
    _REVENUE,
    replace(_REVENUE, weights=_UNEVEN),
    replace(_SHARES, plan_day=10.0, secondary=5),
    _RETENTION,
    _GUARDED,
    replace(_GUARDED, non_inferior=True),
    _RAMPED,
)

ALL_CASES: Final[tuple[DecisionCase, ...]] = (
    *(
        replace(_SHARES, rate=rate, plan_day=day, weights=weights)
        for weights in (_EVEN, _UNEVEN, _THREE, _FIVE)
        for rate in _RATES
        for day in _PLAN_DAYS
    ),
    *(
        replace(_SHARES, rate=rate, plan_day=day, weights=weights, method=method)
        for method in _OTHER_METHODS
        for weights in (_EVEN, _UNEVEN, _THREE, _FIVE)
        for rate, day in ((0.05, 7.0), (0.05, 28.0), (0.05, NEVER), (0.005, 28.0), (0.3, 28.0))
    ),
    *(
        replace(_REVENUE, plan_day=day, weights=weights)
        for weights in (_EVEN, _UNEVEN, _THREE, _FIVE)
        for day in _PLAN_DAYS
    ),
    *(
        replace(_REVENUE, weights=weights, method=method)
        for method in _OTHER_METHODS
        for weights in (_EVEN, _UNEVEN)
    ),
    *(
        replace(_RETENTION, rate=rate, plan_day=day, known_after=known_after)
        for rate, day, known_after in (
            (0.2, 31.3, 14),
            (0.2, 48.6, 14),
            (0.05, 36.0, 14),
            (0.5, 18.3, 14),
            (0.2, 15.7, 7),
            (0.2, NEVER, 14),
        )
    ),
    # Beyond the bars' settings: very uneven, late conversions, few conversions, several goals.
    replace(_SHARES, weights=(19.0, 1.0)),
    replace(_SHARES, weights=(1.0, 9.0)),
    replace(_REVENUE, weights=(19.0, 1.0)),
    replace(_SHARES, delay=3.0),
    replace(_SHARES, plan_day=10.0, delay=3.0),
    replace(_SHARES, plan_day=NEVER, delay=7.0),
    replace(_SHARES, rate=0.005, plan_day=10.0, minimum_effect=1.0),
    replace(_SHARES, rate=0.005, plan_day=10.0, minimum_effect=1.0, weights=_UNEVEN),
    *(replace(_SHARES, plan_day=day, secondary=5) for day in (10.0, 28.0, NEVER)),
    replace(_SHARES, secondary=5, weights=_THREE),
    *(replace(_RAMPED, rate=rate, weights=weights) for rate in (0.05, 0.3) for weights in (_EVEN, _THREE)),
    replace(_RAMPED, plan_day=NEVER),
    *(
        replace(_GUARDED, guardrails=count, non_inferior=non_inferior)
        for count in (1, 3)
        for non_inferior in (False, True)
    ),
)
