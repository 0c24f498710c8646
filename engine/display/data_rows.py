"""Rows of results for DataFrames: one a goal and variant, segment, or figure."""

from dataclasses import fields
from typing import Any

from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.analysis.results.variant_result import Interval
from engine.display.plain_data import plain_data

Row = dict[str, Any]

# Fields of a variant that are numbers or words; intervals become two columns each.
_VARIANT_COLUMNS = (
    *("variant_name", "is_control", "visitors", "conversions", "conversion_rate"),
    *("revenue_cents", "revenue_per_visitor_cents", "mean", "improvement", "p_value", "chance_to_beat"),
    *("adjusted_chance_to_beat", "absolute_difference", "clusters", "status"),
)
_SEGMENT_COLUMNS = (
    *("variant_name", "visitors", "conversions", "conversion_rate", "revenue_per_visitor_cents", "mean"),
    *("improvement", "shrunk_improvement", "chance_to_beat", "adjusted_p_value", "adjusted_p_value_vs_rest"),
    *("differs_from_rest", "status"),
)


def rows_of_report(report: Report) -> list[Row]:
    """List a row per goal and variant; shares and cents, `low` and `high` of the change."""
    return [
        {"goal": goal.goal.name, "is_primary": goal.goal.is_primary}
        | {name: flat[name] for name in _VARIANT_COLUMNS}
        | _bounds(variant.improvement_interval)
        for goal in report.goals
        for variant in goal.variants
        for flat in (flatten(variant),)
    ]


def rows_of_segments(report: SegmentReport) -> list[Row]:
    """List a row per goal, segment and challenger; `low` and `high` are of the shrunk change."""
    return [
        {"goal": goal.goal.name, "dimension": segment.dimension, "value": segment.value}
        | {name: getattr(arm, name) for name in _SEGMENT_COLUMNS}
        | _bounds(arm.shrunk_interval)
        for goal in report.goals
        for segment in goal.segments
        for arm in segment.variants
    ]


def row_of_record(record: Any) -> list[Row]:  # noqa: ANN401  # a dataclass
    """List one row: the fields, and those of records within as `outer_inner`."""
    return [_flat(plain_data(record))]


def _flat(record: Row, prefix: str = "") -> Row:
    row: Row = {}
    for name, value in record.items():
        row |= _flat(value, f"{prefix}{name}_") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return row


def _bounds(interval: Interval | None) -> Row:
    names = [one.name for one in fields(Interval)]
    return {name: None if interval is None else getattr(interval, name) for name in names}
