"""A report as the bytes of a file."""

import json
import pickle
import subprocess
import sys
from typing import Final

from api.report_formats import Format
from engine.analysis.results.report import Report
from engine.charts.forest import chart_improvements
from engine.charts.pictures import chart_png
from engine.display.html_blocks import page_of
from engine.display.report_document import document_of_report

# In a process of its own: the JavaScript engine of charts takes memory that a service does not give back.
_PROGRAM: Final = """
import pickle, sys
from api.report_files import report_content
sys.stdout.buffer.write(report_content(pickle.load(sys.stdin.buffer), sys.argv[1]))
"""
_SECONDS: Final = 120


def report_content(report: Report, format_: Format) -> bytes:
    """Write a report in a format, as the bytes of a file."""
    match format_:
        case "html":
            return page_of(document_of_report(report), title=report.experiment.name).encode()
        case "md":
            return report.to_markdown().encode()
        case "json":
            return json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False).encode()
        case "png":
            return chart_png(chart_improvements(report))


def content_by_another_process(report: Report, format_: Format) -> bytes:
    """Do the work of `report_content` in a process that ends afterwards, for a service."""
    written = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _PROGRAM, format_],
        input=pickle.dumps(report),
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return written.stdout
