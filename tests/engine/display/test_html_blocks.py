"""HTML of documents: one page that needs nothing else, or fragments for a page with the stylesheet."""

import re

import pytest

from engine.display.document import Table
from engine.display.html_blocks import block_html, html_of, page_of, stylesheet
from engine.display.report_document import document_of_report
from tests.engine.display.test_displays import a_report


def test_a_page_has_its_style_and_pictures_and_asks_for_nothing() -> None:
    page = page_of(document_of_report(a_report()), title="A <title>")
    assert page.startswith("<!doctype html>")
    assert "<title>A &lt;title&gt;</title>" in page
    assert "<svg" in page
    assert stylesheet() in page
    assert not re.search(r"<script|<link|<img|<iframe|\ssrc=|@import|url\(", page)


def test_a_fragment_leaves_out_the_stylesheet_that_its_page_has() -> None:
    fragment = html_of(document_of_report(a_report()), with_style=False)
    assert "<style" not in fragment
    used = set(re.findall(r"tl-[a-z-]+", fragment))
    assert {"tl-card", "tl-table", "tl-chart", "tl-check-ok"} <= used


def test_cells_are_escaped_and_a_row_of_another_length_is_refused() -> None:
    table = Table(title="t", headings=("a", "b"), rows=(("<b>", "1 & 2"),))
    assert '<th scope="row">&lt;b&gt;</th><td>1 &amp; 2</td>' in block_html(table)
    with pytest.raises(ValueError, match="not as many cells"):
        Table(title="t", headings=("a", "b"), rows=(("a",),))
