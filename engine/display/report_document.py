"""Document of a report: verdict, goals, forest plot and health checks."""

from collections.abc import Iterator
from functools import partial

from engine.analysis.results.formatting import metric_text, share, steps_text
from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.report import GoalReport, HealthCheck, Report
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.results.variant_result import VariantResult
from engine.analysis.results.verdict_words import end_word, verdict_of
from engine.charts.forest import chart_improvements
from engine.display.document import Block, Card, Document, Notes, Picture, Table
from engine.display.report_lines import change_of, lines_of_report


def document_of_report(report: Report) -> Document:
    """Build the document of a report; the primary goal is first."""
    blocks: list[Block] = []
    card = verdict_card(report)
    if card is not None:
        blocks.append(card)
    goals = primary_first(report)
    blocks.extend(goal_table(goal, report) for goal in goals)
    if any(variant.improvement is not None for goal in goals for variant in goal.variants):
        blocks.append(forest_plot(report))
    if report.health:
        blocks.append(health_notes(report))
    return Document(summary=tuple(lines_of_report(report)), blocks=tuple(blocks))


def primary_first(report: Report) -> list[GoalReport]:
    """List the goals, the primary one first and the others as given."""
    return sorted(report.goals, key=lambda one: not one.goal.is_primary)


def verdict_card(report: Report) -> Card | None:
    """Build the verdict card of the primary goal; None while there is no goal."""
    if report.primary is None:
        return None
    decision = report.primary.decision
    sentences = (decision.explanation, decision.confidence_assessment, _decided(report))
    return Card(
        title=report.experiment.name,
        label=decision.recommendation_label,
        tone=decision.tone,
        headline=decision.headline,
        sentences=tuple(one for one in (*sentences, _more(decision.docs)) if one),
        next_step=decision.next_step,
    )


def _decided(report: Report) -> str:
    """Say what was decided, by whom and why; nothing before."""
    experiment, primary = report.experiment, report.primary
    conclusion = experiment.conclusion
    if conclusion is None or primary is None:
        return ""
    verdict = verdict_of(primary.decision.recommendation, primary.decision.reason)
    word = end_word(conclusion.decision, verdict).label
    shipped = next((f" '{one.name}'" for one in experiment.variants if one.id == conclusion.variant_id), "")
    by = f" by {conclusion.decided_by_name}" if conclusion.decided_by_name else ""
    return f"Decided on {conclusion.decided_at:%-d %b %Y}{by}: {word}{shipped}. {conclusion.note}"


def goal_table(goal: GoalReport, report: Report) -> Table:
    """Build the table of a goal: raw counts, the metric, the change and its interval of every variant."""
    level = next(
        (one.improvement_interval.level for one in goal.variants if one.improvement_interval is not None),
        None,
    )
    return Table(
        title=f"{goal.goal.name} (primary goal)" if goal.goal.is_primary else goal.goal.name,
        headings=(
            "Variant",
            "Visitors",
            "Conversions",
            metric_name(goal),
            "Change",
            "Interval" if level is None else f"{share(level)} interval",
            "Result",
        ),
        rows=tuple(_cells(report, goal, variant) for variant in goal.variants),
        notes=(
            *(steps_text(variant) for variant in goal.variants if variant.details.steps),
            *clusters_text(goal, report),
        ),
    )


def clusters_text(goal: GoalReport, report: Report) -> Iterator[str]:
    """Say by what the variants are compared, and how many of those each has; nothing without clusters."""
    if report.clustered_by is not None:
        counts = ", ".join(f"{one.variant_name} {one.clusters:,}" for one in goal.variants)
        units = report.plan.unit.capitalize()
        yield f"Compared by {report.clustered_by}, not by visitor. {units}: {counts}."


def forest_plot(report: Report) -> Picture:
    """Build the forest plot of all goals."""
    return Picture(title="Change against the control", draw=partial(chart_improvements, report))


def health_notes(report: Report) -> Notes:
    """List the health checks that apply, alarms and warnings first."""
    order = {"alarm": 0, "warning": 1, "ok": 2}
    checks = sorted((one for one in report.health if one.status in order), key=lambda one: order[one.status])
    return Notes(title="Health checks", lines=tuple((one.status, _note(one)) for one in checks))


def _note(check: HealthCheck) -> str:
    """Write what a check found; of one that is open also where to read on."""
    return f"{check.message} {_more(check.docs)}".strip() if check.is_open else check.message


def _more(docs: str) -> str:
    """Say where to read on; nothing for reports of before there was such a page."""
    return f"More: {docs}" if docs else ""


def metric_name(goal: GoalReport) -> str:
    """Name the metric of a goal, with its unit."""
    return goal.goal.measure.label


def _cells(report: Report, goal: GoalReport, variant: VariantResult) -> tuple[str, ...]:
    change, bounds = change_of(variant)
    return (
        variant.variant_name,
        f"{variant.metric.n:,}",
        f"{variant.conversions:,}",
        metric_text(variant),
        change,
        bounds,
        STATUS_WORDS[row_status(report, goal, variant)].label,
    )
