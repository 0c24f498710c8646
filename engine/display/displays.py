"""Displays by the type of a result: its document, and its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.calibration.error_rates import ErrorRates
from engine.design.planning.calculator import SampleAnswer
from engine.display.data_rows import Row, row_of_record, rows_of_report, rows_of_segments
from engine.display.document import Document
from engine.display.figure_documents import document_of_error_rates, document_of_sample
from engine.display.html_blocks import html_of
from engine.display.markdown_text import markdown_of
from engine.display.plain_data import plain_data
from engine.display.report_document import document_of_report
from engine.display.segment_document import document_of_segments


@dataclass(frozen=True, slots=True)
class Display:
    """How results of a type are shown."""

    document: Callable[[Any], Document]
    rows: Callable[[Any], list[Row]]


DISPLAYS: dict[type, Display] = {
    Report: Display(document_of_report, rows_of_report),
    SegmentReport: Display(document_of_segments, rows_of_segments),
    SampleAnswer: Display(document_of_sample, row_of_record),
    ErrorRates: Display(document_of_error_rates, row_of_record),
}


def text(result: object) -> str:
    """Describe a result in a few lines."""
    return "\n".join(DISPLAYS[type(result)].document(result).summary)


def html(result: object) -> str:
    """Write a result as an HTML fragment with its stylesheet, as notebooks show it."""
    return html_of(DISPLAYS[type(result)].document(result))


def markdown(result: object) -> str:
    """Write a result as Markdown."""
    return markdown_of(DISPLAYS[type(result)].document(result))


def rows(result: object) -> list[Row]:
    """List the rows of a result."""
    return DISPLAYS[type(result)].rows(result)


def data(result: object) -> Row:
    """Return a result as plain data."""
    plain: Row = plain_data(result)
    return plain
