"""Situations of experiments by name: the golden file of sentences is made of them."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from engine.analysis.evidence.largest_visitors import LargestVisitors, LargeVisitor
from engine.analysis.results.report import Report
from engine.design.analysis_settings import Statistics
from engine.stats.moments import Moments
from tests.builders import a_goal
from tests.engine.analysis.report.situation import Situation

ERROR = {"event_name": "error"}
GUARDRAIL = a_goal(
    id="goal_2",
    name="Errors",
    is_primary=False,
    config={"event_name": "error", "direction": "decrease", "guardrail_margin_percent": 5},
)
SIGNUPS = a_goal(id="goal_2", name="Signups", is_primary=False, config={"event_name": "signup"})
REVENUE = a_goal(goal_type="revenue", name="Revenue", config={})
RETAINED = a_goal(
    id="goal_2",
    name="Back in week 4",
    is_primary=False,
    config={
        "event_name": "visit",
        "measure": "retained",
        "from_day": 21,
        "to_day": 27,
        "guardrail_margin_percent": 5,
    },
)
TIME = a_goal(name="Time", config={"event_name": "time", "measure": "value"})
BACK_IN_WEEK_3 = replace(
    RETAINED,
    name="Back in week 3",
    config={**RETAINED.config, "from_day": 14, "to_day": 20},
)
BACK_ON_DAY_14 = a_goal(
    name="Back on day 14", config={"event_name": "visit", "measure": "retained", "from_day": 14}
)
NON_INFERIOR = Statistics(guardrails="non_inferior")
PROFIT = a_goal(
    id="goal_2",
    name="Profit",
    is_primary=False,
    goal_type="revenue",
    config={"guardrail_margin_percent": 10},
)


def _with_large_order() -> dict[str, Any]:
    """Build cents of 1,800 visitors of A and 200 of B, one of whom spends 20 times as much as others."""
    rng = np.random.default_rng(4)
    cents = np.where(rng.random(2_000) < 0.3, (100 * rng.lognormal(3, 0.5, 2_000)).round(), 0.0)
    cents[1_800:] = (1.4 * cents[1_800:]).round()
    cents[-1] = 50_000
    arms = cents[:1_800], cents[1_800:]
    largest = LargestVisitors.none(1, 2)
    for column, arm in enumerate(arms):
        largest.put(0, column, by_value=[LargeVisitor(value) for value in np.sort(arm)[::-1][:5]])
    moments = Moments.stack([Moments.of(arm) for arm in arms])[None]
    return {"revenue": moments, "largest": largest}


_PLAN = Situation(visitors=[15_500] * 2, conversions=[1_550, 1_700])
_NO_WIN_AT_PLAN = Situation(visitors=[15_500] * 2, conversions=[1_550, 1_620])
SITUATIONS: dict[str, Situation] = {
    "a winner before the plan": Situation(visitors=[8_000] * 2, conversions=[800, 1_000], day=8),
    "a winner at the plan": _PLAN,
    "a winner of the record, visibly different with late data": Situation(
        visitors=[16_400] * 2, conversions=[1_660, 1_770], day=20, plan=_PLAN
    ),
    "a winner by late data": Situation(
        visitors=[60_000] * 2, conversions=[6_000, 6_700], day=40, plan=_NO_WIN_AT_PLAN
    ),
    "a winner in a file": Situation(
        visitors=[5_000] * 2,
        conversions=[500, 570],
        day=3,
        status="completed",
        options={"is_finished": True},
    ),
    "several winners": Situation(visitors=[20_000] * 4, conversions=[2_000, 2_300, 2_360, 2_040]),
    "two winners of which the better breaks a guardrail": Situation(
        visitors=[20_000] * 3,
        conversions=[[2_000, 2_300, 2_400], [400, 405, 560]],
        goals=(a_goal(), GUARDRAIL),
    ),
    "a winner before its guardrail is known": Situation(
        visitors=[8_000] * 2,
        conversions=[[800, 1_000], [0, 0]],
        goals=(a_goal(), RETAINED),
        known=[[8_000, 8_000], [0, 0]],
        day=8,
    ),
    "a winner at the plan, before its guardrail is known": Situation(
        visitors=[15_500] * 2,
        conversions=[[1_550, 1_800], [0, 0]],
        goals=(a_goal(), RETAINED),
        known=[[15_500, 15_500], [0, 0]],
    ),
    "a winner that ended before its guardrail was known": Situation(
        visitors=[15_500] * 2,
        conversions=[[1_550, 1_800], [0, 0]],
        goals=(a_goal(), RETAINED),
        known=[[15_500, 15_500], [0, 0]],
        status="completed",
    ),
    "a guardrail in week 3, on day 8": Situation(
        visitors=[8_000] * 2,
        conversions=[[800, 830], [0, 0]],
        goals=(a_goal(), BACK_IN_WEEK_3),
        known=[[8_000, 8_000], [0, 0]],
        day=8,
    ),
    "retention before any outcome is known": Situation(
        visitors=[4_800] * 2, conversions=[0, 0], goals=(BACK_ON_DAY_14,), known=[[0, 0]], day=12
    ),
    # 800 visitors a day: the required ones have entered, the outcomes of two days are known.
    "retention once the planned visitors have entered": Situation(
        visitors=[7_200] * 2, conversions=[160, 176], goals=(BACK_ON_DAY_14,), known=[[800, 800]], day=18
    ),
    "retention, ahead of the plan": Situation(
        visitors=[10_000] * 2,
        conversions=[800, 1_000],
        goals=(BACK_ON_DAY_14,),
        known=[[4_000, 4_000]],
        day=25,
    ),
    "retention that won, paused": Situation(
        visitors=[10_000] * 2,
        conversions=[1_600, 2_000],
        goals=(BACK_ON_DAY_14,),
        known=[[8_000, 8_000]],
        day=25,
        status="paused",
    ),
    "retention of which no outcome was known at the end": Situation(
        visitors=[4_800] * 2,
        conversions=[0, 0],
        goals=(BACK_ON_DAY_14,),
        known=[[0, 0]],
        day=12,
        status="completed",
    ),
    "a winner whose guardrail is below 0 with the control": Situation(
        visitors=[15_500] * 2,
        conversions=[[1_550, 1_800], [1_000, 1_000]],
        goals=(a_goal(), PROFIT),
        cents=[(-100, 900), (-900, 900)],
    ),
    "a winner whose guardrail is below 0, within an absolute margin": Situation(
        visitors=[15_500] * 2,
        conversions=[[1_550, 1_800], [1_000, 1_000]],
        goals=(a_goal(), replace(PROFIT, config={"guardrail_margin_absolute": 50})),
        cents=[(-100, 900), (-90, 900)],
    ),
    "a winner that breaks a guardrail with an absolute margin": Situation(
        visitors=[15_500] * 2,
        conversions=[[1_550, 1_800], [1_000, 1_250]],
        goals=(
            a_goal(),
            replace(GUARDRAIL, config={"direction": "decrease", "guardrail_margin_absolute": 0.5, **ERROR}),
        ),
    ),
    "a winner whose guardrail is shown within its margin": Situation(
        visitors=[100_000] * 2,
        conversions=[[10_000, 10_600], [8_000, 7_950]],
        goals=(a_goal(), GUARDRAIL),
        statistics=NON_INFERIOR,
    ),
    "a winner at the plan, its guardrail not shown within its margin": Situation(
        visitors=[15_500] * 2,
        conversions=[[1_550, 1_800], [1_200, 1_210]],
        goals=(a_goal(), GUARDRAIL),
        statistics=replace(NON_INFERIOR, planned_sample=31_000),
    ),
    "a winner before the plan, its guardrail not shown within its margin": Situation(
        visitors=[15_500] * 2,
        conversions=[[1_550, 1_800], [1_200, 1_210]],
        goals=(a_goal(), GUARDRAIL),
        statistics=NON_INFERIOR,
        day=10,
    ),
    "a winner before the plan, its guardrail beyond the margin": Situation(
        visitors=[8_000] * 2,
        conversions=[[800, 1_000], [400, 430]],
        goals=(a_goal(), GUARDRAIL),
        day=8,
    ),
    "a winner on a value that half of its visitors lack": Situation(
        visitors=[6_000] * 2,
        conversions=[6_000, 3_000],
        goals=(TIME,),
        known=[[6_000, 3_000]],
        cents=[(20, 10), (30, 10)],
        day=10,
    ),
    "a small variant that one visitor decides": Situation(
        visitors=[1_800, 200],
        conversions=[540, 61],
        goals=(REVENUE,),
        weights=[9, 1],
        status="completed",
        options={"is_finished": True},
        more=_with_large_order(),
    ),
    "a loser": Situation(visitors=[8_000] * 2, conversions=[800, 640], day=4),
    "a loser by less than matters": Situation(
        visitors=[3_000_000] * 2, conversions=[1_500_000, 1_497_000], day=20
    ),
    "a winner over a control without conversions": Situation(
        visitors=[3_000] * 2, conversions=[0, 120], day=14
    ),
    "losers only": Situation(visitors=[20_000] * 3, conversions=[2_000, 1_700, 1_720]),
    "a loser beside a variant with 60 visitors": Situation(
        visitors=[8_000, 8_000, 60], conversions=[800, 600, 7], day=9, weights=[400, 400, 3]
    ),
    "a broken guardrail without a win": Situation(
        visitors=[20_000] * 2, conversions=[[2_000, 2_010], [400, 560]], goals=(a_goal(), GUARDRAIL)
    ),
    "a win that breaks a guardrail": Situation(
        visitors=[20_000] * 2, conversions=[[2_000, 2_300], [400, 560]], goals=(a_goal(), GUARDRAIL)
    ),
    "errors where the control has none": Situation(
        visitors=[10_000] * 2, conversions=[[1_000, 1_030], [0, 40]], goals=(a_goal(), GUARDRAIL), day=3
    ),
    "a win that harms another goal": Situation(
        visitors=[20_000] * 2, conversions=[[2_000, 2_300], [3_000, 2_600]], goals=(a_goal(), SIGNUPS)
    ),
    "too early to say": Situation(visitors=[1_000] * 2, conversions=[100, 110], day=2),
    "ahead, not yet safe to stop": Situation(visitors=[5_000] * 2, conversions=[500, 570], day=10),
    "ahead in the first week": Situation(visitors=[8_000] * 2, conversions=[800, 1_000], day=5),
    "behind, not yet safe to stop": Situation(visitors=[5_000] * 2, conversions=[500, 435], day=10),
    "a sample that day 56 comes before": Situation(visitors=[400] * 2, conversions=[20, 24], day=10),
    "a given sample": Situation(
        visitors=[5_000] * 2, conversions=[500, 520], statistics=Statistics(planned_sample=40_000)
    ),
    "no difference": Situation(
        visitors=[28_806, 28_798], conversions=[3_516, 3_421], statistics=Statistics(planned_sample=57_000)
    ),
    "no difference among several": Situation(visitors=[60_000] * 3, conversions=[6_000, 6_020, 5_930]),
    "no clear result at the plan": _NO_WIN_AT_PLAN,
    "ended at the plan without a clear result": replace(_NO_WIN_AT_PLAN, status="completed"),
    "ended at a twentieth of the plan": Situation(
        visitors=[600] * 2, conversions=[60, 75], day=3, status="completed"
    ),
    "a segment": Situation(
        visitors=[8_000] * 2, conversions=[800, 1_000], day=12, options={"is_segment": True}
    ),
    "a segment without a result": Situation(
        visitors=[2_000] * 2, conversions=[200, 215], day=12, options={"is_segment": True}
    ),
    "a winner that ended before the plan": Situation(
        visitors=[8_000] * 2, conversions=[800, 1_000], day=9, status="completed"
    ),
    "a loss found at an earlier look": Situation(
        visitors=[15_500] * 2,
        conversions=[1_550, 1_560],
        day=20,
        plan=Situation(visitors=[17_000] * 2, conversions=[1_700, 1_540]),
    ),
    "no visitor": Situation(visitors=[0, 0], conversions=[0, 0], day=1),
    "three conversions": Situation(visitors=[900, 900], conversions=[1, 2], day=3),
    "a broken split": Situation(visitors=[10_000, 9_000], conversions=[1_000, 1_100]),
    "a split that broke after the record": Situation(
        visitors=[17_000, 15_600], conversions=[1_700, 1_740], plan=_PLAN, day=20
    ),
    "always valid": Situation(
        visitors=[5_000] * 2,
        conversions=[500, 540],
        statistics=Statistics(sequential="always_valid"),
        day=10,
    ),
    "group sequential": Situation(
        visitors=[9_000] * 2,
        conversions=[900, 1_030],
        statistics=Statistics(sequential="group_sequential", planned_sample=20_000),
        day=10,
    ),
    "Holm's adjustment": Situation(
        visitors=[5_000] * 3, conversions=[500, 560, 580], statistics=Statistics(correction="holm"), day=10
    ),
    "a one-sided test": Situation(
        visitors=[15_000] * 2, conversions=[1_500, 1_600], statistics=Statistics(alternative="one_sided")
    ),
    "Bayesian, ahead": Situation(
        visitors=[5_000] * 2, conversions=[500, 570], settings={"analysis_method": "bayesian"}, day=10
    ),
    "revenue, chosen among two": Situation(
        visitors=[20_000] * 3,
        conversions=[1_000, 1_040, 1_010],
        goals=(REVENUE,),
        cents=[(1_000, 6_000), (1_220, 6_000), (1_010, 6_000)],
    ),
    "revenue in a file": Situation(
        visitors=[20_000] * 2,
        conversions=[1_000, 1_040],
        goals=(REVENUE,),
        status="completed",
        cents=[(1_000, 6_000), (1_220, 6_000)],
        options={"is_finished": True},
    ),
    "capped revenue that falls without the cap": Situation(
        visitors=[20_000] * 2,
        conversions=[1_000, 1_300],
        goals=(replace(REVENUE, config={"cap_percentile": 99}),),
        cents=[(1_000, 4_000), (1_304, 4_000)],
        uncapped=[(1_500, 20_000), (1_450, 4_500)],
    ),
}


@cache
def report_of(name: str) -> Report:
    """Return the report of a situation, analyzed once."""
    return SITUATIONS[name].report()
