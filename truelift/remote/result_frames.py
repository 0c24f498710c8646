"""Frames of results: a row a variant, segment, day or experiment, shares and minor units as in reports."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, Literal, get_args

import polars as pl

from engine.analysis.results.flat_results import VIEWS
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.display.plain_data import plain_data

Library = Literal["polars", "pandas"]
Row = dict[str, Any]


def frame_maker(library: Library) -> Any:  # noqa: ANN401 - a function that makes a frame of a library
    """Return the function that makes a frame of rows.

    ValueError for another library, ModuleNotFoundError where pandas is not installed.
    """
    if library not in get_args(Library):
        raise ValueError(f"frames must be {' or '.join(get_args(Library))}, not {library!r}")
    if library == "polars":
        return _polars_frame
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "frames of pandas need pandas: install it (pip install pandas), or leave out frames for Polars",
            name="pandas",
        ) from error
    return lambda rows: pandas.DataFrame(_polars_frame(rows).to_dict(as_series=False))


def _polars_frame(rows: Iterable[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)


def result_rows(report: Report) -> list[Row]:
    """List a row a goal and variant, with every number of the variant."""
    return [
        {
            "goal_id": goal.goal.id,
            "goal": goal.goal.name,
            "is_primary": goal.goal.is_primary,
            **columns_of(one),
        }
        for goal in report.goals
        for one in goal.variants
    ]


def segment_rows(report: SegmentReport) -> list[Row]:
    """List a row a goal, segment and variant; the control has no comparison."""
    return [
        {
            "goal_id": goal.goal.id,
            "goal": goal.goal.name,
            "dimension": segment.dimension,
            "value": segment.value,
            "is_control": arm is segment.control,
            **columns_of(arm),
        }
        for goal in report.goals
        for segment in goal.segments
        for arm in (segment.control, *segment.variants)
        if arm is not None
    ]


def day_rows(report: Report) -> list[Row]:
    """List a row a goal, day and variant."""
    names = {one.id: one.name for one in report.experiment.variants}
    return [
        {
            "goal_id": goal.goal.id,
            "goal": goal.goal.name,
            "date": day,
            "variant_id": variant_id,
            "variant_name": names[variant_id],
            **columns_of(counted),
        }
        for goal in report.goals
        for day, by_variant in goal.days
        for variant_id, counted in by_variant.items()
    ]


def columns_of(record: Any, prefix: str = "") -> Row:  # noqa: ANN401 - a dataclass
    """Flatten a record: fields of records within are `outer_inner`, lists of records are lists of structs."""
    row: Row = {}
    for name, value in _named_values(record):
        if is_dataclass(value):
            row |= columns_of(value, f"{prefix}{name}_")
        elif isinstance(value, Mapping):
            row[prefix + name] = [{"id": key, "value": plain_data(one)} for key, one in value.items()]
        else:
            row[prefix + name] = plain_data(value) if isinstance(value, tuple) else value
    return row


def _named_values(record: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401 - a dataclass
    view = VIEWS.get(type(record))
    if view is None:
        return [(one.name, getattr(record, one.name)) for one in fields(record)]
    # Fields that no answer has would be empty columns.
    return [(one.name, one.value(record)) for one in view.places if one.field.is_answered]
