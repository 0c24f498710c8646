"""Reports as tables in a terminal: the decision first, the numbers below."""

from collections.abc import Collection

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from engine.analysis.results.formatting import exact_money, figure, signed_figure, steps_text
from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.planned_sample import PlanReport
from engine.analysis.results.report import DecisionSummary, GoalReport, Report
from engine.analysis.results.rounding import round_beside
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.results.variant_result import Interval, Metric, VariantResult
from engine.currencies import minor_unit_digits
from engine.design.goal import Goal

TONE_STYLE = {"positive": "green", "negative": "red", "neutral": "cyan", "warning": "yellow"}
STATUS_STYLE = {"positive": "bold green", "negative": "red"}
ADJUSTED = (
    "  * change, interval, score and p are adjusted by the covariates (CUPED); the columns before are not."
)


def render_report(report: Report, *, title: str | None = None, means: Collection[str] = ()) -> RenderableType:
    """Render the verdict and its plan, every goal's numbers, and the health checks that raise an alarm.

    `means` are goals that are a mean of the visitors' rows, and not a sum.
    """
    blocks: list[RenderableType] = []
    if report.primary is not None:
        blocks.append(_verdict(report.primary.decision, title or report.experiment.name))
        blocks.append(Text(_plan(report.plan)))
    blocks.extend(_numbers(report, goal, is_mean=goal.goal.name in means) for goal in report.goals)
    alarms = [check for check in report.health if check.is_open]
    for check in alarms:
        style = "bold red" if check.status == "alarm" else "yellow"
        blocks.append(Text(f"{check.check}: {check.message}", style=style))
    return Group(*blocks)


def render_verdicts(reports: list[Report]) -> Table:
    """Render one row per experiment: the verdict, and the reason in a sentence."""
    table = Table(title="Verdicts", title_justify="left", show_lines=True)
    for heading in ("experiment", "visitors", "verdict", "uplift", "score", "why"):
        table.add_column(heading, justify="right" if heading in {"visitors", "uplift", "score"} else "left")
    for report in reports:
        if report.primary is None:
            continue
        decision = report.primary.decision
        table.add_row(
            report.experiment.name,
            f"{decision.visitors:,}",
            Text(decision.recommendation_label, style=f"bold {TONE_STYLE[decision.tone]}"),
            _percent(decision.estimated_uplift, signed=True),
            f"{_score(decision.score_value, decision.effective_confidence_threshold)}"
            f" of {_percent(decision.effective_confidence_threshold)}",
            decision.headline,
        )
    return table


def _verdict(decision: DecisionSummary, title: str) -> Panel:
    text = Text()
    text.append(decision.headline + "\n", style="bold")
    text.append(decision.explanation + "\n")
    text.append(decision.confidence_assessment + "\n")
    text.append("Next: ", style="bold")
    text.append(decision.next_step)
    return Panel(
        text,
        title=f"{title}: {decision.recommendation_label}",
        title_align="left",
        border_style=TONE_STYLE[decision.tone],
    )


def _plan(plan: PlanReport) -> str:
    """Describe the plan in a line: its visitors, how far it is, and what it detects."""
    if plan.source == "finished":
        extent = f"finished test, judged by one look at {plan.counted:,} {plan.unit}"
    elif plan.is_reached:
        extent = f"reached, {plan.counted:,} {plan.unit}"
    elif plan.required_visitors is None:
        extent = f"{plan.counted:,} {plan.unit}, required number not known yet"
    else:
        extent = f"{plan.counted:,} of {plan.required_visitors:,} {plan.unit}"
        extent += f" ({_percent(plan.progress)})"
    days = "" if plan.is_reached or plan.days_left is None else f"; days left: {plan.days_left}"
    return f"Plan: {extent}{days}{_detects(plan.detectable_effect)}"


def _detects(effect: float | None) -> str:
    if effect is None:
        return ""
    return "; even a doubling may be missed" if effect > 1 else f"; detects a change of {effect:.1%}"


def _numbers(whole: Report, report: GoalReport, *, is_mean: bool) -> RenderableType:
    goal = report.goal
    table = Table(
        title=f"{goal.name} ({'mean' if is_mean else _kind(goal)}); score: {report.summary.score_label}",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1),
    )
    table.add_column("variant", overflow="fold")
    is_capped = any(variant.details.capped for variant in report.variants)
    means = (_mean_heading(goal, is_capped=is_capped, is_mean=is_mean),) if goal.unit != "share" else ()
    for heading in ("visitors", "conv.", "rate", *means, "change", "interval", "score", "p", "status"):
        table.add_column(heading, justify="right", overflow="fold")
    for variant in report.variants:
        word = STATUS_WORDS[row_status(whole, report, variant)]
        table.add_row(*_cells(variant, report), word.label, style=STATUS_STYLE.get(word.tone, ""))
    notes = [f"  {steps_text(variant)}" for variant in report.variants if variant.details.steps]
    if any(variant.details.unadjusted for variant in report.variants):
        notes.append(ADJUSTED)
    return Group(table, *map(Text, notes)) if notes else table


def _kind(goal: Goal) -> str:
    return goal.goal_type if goal.measure.word == "converted" else goal.measure.word


def _mean_heading(goal: Goal, *, is_capped: bool, is_mean: bool) -> str:
    if is_capped:
        return "capped"
    if is_mean:
        return "mean"
    return goal.measure.heading


def _cells(variant: VariantResult, report: GoalReport) -> list[str]:
    metric = variant.metric
    return [
        f"{variant.variant_name} *" if variant.details.unadjusted else variant.variant_name,
        f"{metric.n:,}",
        f"{variant.conversions:,}",
        _percent(metric.value if metric.unit == "share" else variant.conversion_rate),
        *_mean(variant.revenue if metric.unit == "cents" and not variant.details.capped else metric),
        *_change(variant),
        _score(variant.compared.score_value, report.summary.effective_confidence_threshold),
        "" if variant.p_value is None else f"{variant.p_value:.3g}",
    ]


def _change(variant: VariantResult) -> tuple[str, str]:
    """Format the relative change and its interval; the difference of means that have none."""
    difference, bounds = variant.compared.absolute_difference, variant.compared.absolute_difference_interval
    if variant.improvement is not None or variant.metric.unit != "number" or difference is None:
        return _percent(variant.improvement, signed=True), _interval(variant.improvement_interval)
    ends = () if bounds is None else (bounds.low, bounds.high)
    return signed_figure(difference), " to ".join(signed_figure(end) for end in ends if end is not None)


def _mean(metric: Metric) -> list[str]:
    """Format a mean, or revenue per visitor; none of a rate."""
    if metric.unit == "share":
        return []
    if metric.value is None or metric.unit == "number":
        return ["" if metric.value is None else figure(metric.value)]
    # An amount of one visitor is small.
    digits = minor_unit_digits(metric.currency) + 2
    return [exact_money(metric.value, metric.currency, digits=digits)]


def _percent(share: float | None, *, signed: bool = False) -> str:
    if share is None:
        return ""
    return f"{share * 100:+.2f}%" if signed else f"{share * 100:.2f}%"


def _score(share: float | None, threshold: float) -> str:
    return "" if share is None else f"{round_beside(share, threshold):.2f}%"


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    low = "-∞" if interval.low is None else f"{interval.low * 100:+.1f}"
    high = "+∞" if interval.high is None else f"{interval.high * 100:+.1f}%"
    return f"{low} to {high}"
