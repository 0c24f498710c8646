"""Document of a segment report: what differs, and every segment."""

from functools import partial

from engine.analysis.results.formatting import interval_text, share, signed
from engine.analysis.results.segment_report import GoalSegments, SegmentReport
from engine.analysis.results.status_words import STATUS_WORDS
from engine.charts.segments import chart_segment_report
from engine.display.document import Block, Card, Document, Picture, Table


def document_of_segments(report: SegmentReport) -> Document:
    """Build the document of a segment report; the primary goal is first."""
    goals = sorted(report.goals, key=lambda one: not one.goal.is_primary)
    blocks: list[Block] = [_card(report, goals)] if goals else []
    for goal in goals:
        blocks.append(_table(report, goal))
        if any(arm.shrunk_improvement is not None for one in goal.segments for arm in one.variants):
            title = f"{goal.goal.name}: change by segment"
            blocks.append(Picture(title=title, draw=partial(chart_segment_report, report, goal.goal.id)))
    count = max((len(one.segments) for one in goals), default=0)
    lines = [
        f"{report.experiment.name}: effects in {count:,} segments (exploratory)",
        *(goal.summary for goal in goals[:2]),
        f"{report.comparisons:,} comparisons; {len(report.split_alarms)} segments not split by weight",
        ".goals, .splits, .to_polars()",
    ]
    return Document(summary=tuple(lines), blocks=tuple(blocks))


def _card(report: SegmentReport, goals: list[GoalSegments]) -> Card:
    left_out = tuple(f"{name} is left out: {why}" for name, why in report.left_out.items())
    return Card(
        title=f"{report.experiment.name}: segments",
        label="Exploratory",
        tone="warning" if report.split_alarms else "neutral",
        headline=goals[0].summary,
        sentences=left_out,
    )


def _table(report: SegmentReport, goal: GoalSegments) -> Table:
    return Table(
        title=goal.goal.name,
        headings=(
            "Segment",
            "Variant",
            "Visitors",
            "Observed change",
            "Pooled change",
            f"{share(1.0 - report.false_discovery_rate)} interval",
            "Result",
        ),
        rows=tuple(
            (
                f"{one.dimension}: {one.value}",
                arm.variant_name,
                f"{arm.visitors:,}",
                "" if arm.improvement is None else signed(arm.improvement),
                "" if arm.shrunk_improvement is None else signed(arm.shrunk_improvement),
                interval_text(arm.shrunk_interval),
                STATUS_WORDS[arm.status].label,
            )
            for one in goal.segments
            for arm in one.variants
        ),
    )
