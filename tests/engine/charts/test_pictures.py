"""Pictures stand alone: no script, no inline style, no request."""

import re

from engine.charts.forest import chart_improvements
from engine.charts.pictures import chart_png, chart_svg
from tests.engine.charts.test_report import a_report


def test_svg_needs_no_script_no_style_attribute_and_no_request() -> None:
    svg = chart_svg(chart_improvements(a_report(), theme="page"))
    assert svg.startswith("<svg")
    assert not re.search(r"<script|<style|<image|\sstyle=|\son\w+=", svg)
    assert set(re.findall(r'https?://[^"]+', svg)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "currentColor" in svg


def test_png_is_drawn_at_the_scale() -> None:
    small, large = (chart_png(chart_improvements(a_report()), scale=scale) for scale in (1.0, 2.0))
    assert small.startswith(b"\x89PNG")
    widths = [int.from_bytes(png[16:20], "big") for png in (small, large)]
    assert widths[1] == 2 * widths[0]
