"""Power curve of a report: the power to detect each lift with the visitors so far, and with those planned."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy

from engine.analysis.results.formatting import share, signed
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.variant_result import VariantResult
from engine.charts.altair_module import load_altair
from engine.charts.forest import SIGNED_PERCENT
from engine.charts.report import goal_of
from engine.charts.themes import BLUE, GREY, Theme, config_of
from engine.design.planning.sample_size import Mean, Metric, Plan, Share, detectable_lift, power_with
from engine.design.planning.stopping import Stopping

if TYPE_CHECKING:
    from altair import LayerChart

__all__ = ["chart_power", "power_curve"]

_WIDTH: Final = 520
_HEIGHT: Final = 260
_POINTS: Final = 61
# Of the lift that the fewest visitors detect: from there on the power is about 1.
_REACH: Final = 1.6
_POWER: Final = 0.8


def chart_power(report: Report, goal_id: str | None = None, *, theme: Theme = "light") -> "LayerChart":
    """Chart the power of one comparison against the true lift, for the visitors so far and those planned.

    Of the primary goal unless another is named. The rate or spread is that measured so far, with CUPED and
    clusters. Raises ValueError for a goal that the report does not have, or whose spread is not known yet.
    """
    alt = load_altair()
    goal = goal_of(report.goals, goal_id)
    rows = power_curve(report, goal)
    samples = list(dict.fromkeys(row["sample"] for row in rows))
    looks = report.experiment.statistics.sequential
    subtitle = (
        "by one look at the end" if looks == "none" else f"looked at every day ({looks.replace('_', ' ')})"
    )
    curves = (
        alt.Chart()
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("lift:Q", title="true change against the control").axis(
                labelExpr=SIGNED_PERCENT, tickCount=6
            ),
            y=alt.Y("power:Q", title="power").axis(format=".0%").scale(domain=[0, 1]),
            color=alt.Color("sample:N", title=None).scale(
                domain=samples, range=[GREY, BLUE][-len(samples) :]
            ),
            tooltip=[
                alt.Tooltip("lift:Q", format="+.2~%"),
                alt.Tooltip("power:Q", format=".1%"),
                "sample:N",
            ],
        )
    )
    wanted = alt.Chart().mark_rule(strokeDash=[4, 3]).encode(y=alt.datum(_POWER))
    smallest = report.plan.minimum_effect
    lines = [wanted]
    if goal.goal.is_primary and smallest <= max(row["lift"] for row in rows):
        subtitle += f" · dashed: {share(_POWER)} power, and the smallest relevant change, {signed(smallest)}"
        lines.append(alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(smallest)))
    chart: LayerChart = (
        alt.layer(*lines, curves, data=alt.Data(values=rows))
        .properties(
            width=_WIDTH,
            height=_HEIGHT,
            title=alt.Title(f"{goal.goal.name}: power to detect a change", subtitle=subtitle),
        )
        .configure(**config_of(theme))
    )
    return chart


def power_curve(report: Report, goal: GoalReport) -> list[dict[str, Any]]:
    """Compute the power of each lift, a row a lift and sample; ValueError where the spread is not known."""
    control, challenger = _smallest_pair(goal)
    metric = _metric_of(report, goal, control, challenger)
    plan = _plan_of(report, control, challenger, len(goal.variants) - 1)
    samples = {f"{sum(one.visitors for one in goal.variants):,} visitors so far": float(control.metric.n)}
    # Those that the plan needs may be more than come until it ends.
    planned = report.plan.tuned_to or report.plan.required_visitors
    if planned is not None and report.plan.clusters is None and not report.plan.is_reached:
        samples[f"{planned:,.0f} visitors at the plan"] = planned * control.sample_ratio_expected
    fewest = min(samples.values())
    farthest = _REACH * float(np.nan_to_num(detectable_lift(metric, fewest, plan), nan=1.0))
    lifts = np.linspace(0.0, min(farthest, float(metric.highest_lift())), _POINTS)
    return [
        {"sample": sample, "lift": lift, "power": power}
        for sample, visitors in samples.items()
        for lift, power in zip(
            lifts.tolist(), power_with(metric, lifts, visitors, plan).tolist(), strict=True
        )
        if np.isfinite(power)
    ]


def _smallest_pair(goal: GoalReport) -> tuple[VariantResult, VariantResult]:
    """Return the control, and the challenger with the smallest share of the visitors."""
    control = next((one for one in goal.variants if one.is_control), None)
    others = [one for one in goal.variants if not one.is_control]
    if control is None or not others:
        raise ValueError(f"{goal.goal.name!r} has no control to compare a variant with")
    return control, min(others, key=lambda one: one.sample_ratio_expected)


def _plan_of(report: Report, control: VariantResult, challenger: VariantResult, comparisons: int) -> Plan:
    statistics = report.experiment.statistics
    method = "fixed" if statistics.sequential == "none" else statistics.sequential
    return Plan(
        alpha=1.0 - report.experiment.confidence_level / 100.0,
        comparisons=comparisons,
        ratio=challenger.sample_ratio_expected / control.sample_ratio_expected,
        stopping=Stopping(method),
        is_one_sided=statistics.alternative == "one_sided",
    )


def _metric_of(report: Report, goal: GoalReport, control: VariantResult, challenger: VariantResult) -> Metric:
    """Return the metric with its spread: of a rate by itself, of a mean by the interval of the difference."""
    value, unadjusted = control.metric.value, challenger.details.unadjusted
    if value is not None and value > 0:
        if goal.goal.unit == "share" and report.clustered_by is None:
            reduction = 0.0 if unadjusted is None else max(unadjusted.variance_reduction, 0.0)
            return Share(value, correlation=reduction**0.5)
        error = _standard_error(challenger)
        if error is not None:
            # As the variance of both is about the same.
            parts = 1.0 / control.metric.n + 1.0 / challenger.metric.n
            return Mean(value, error / parts**0.5)
    raise ValueError(
        f"the spread of {goal.goal.name!r} is not known yet, or its mean is not above 0: it has no power"
    )


def _standard_error(variant: VariantResult) -> float | None:
    """Read the standard error of the difference from its interval; None without one."""
    middle, interval = variant.compared.absolute_difference, variant.compared.absolute_difference_interval
    if middle is None or interval is None:
        return None
    ends = [end for end in (interval.low, interval.high) if end is not None]
    # Of a one-sided test one end is open, and the level is that of both tails.
    half = (max(ends) - min(ends)) / 2.0 if len(ends) == 2 else abs(ends[0] - middle) if ends else 0.0
    return half / float(scipy.special.ndtri((1.0 + interval.level) / 2.0)) or None
