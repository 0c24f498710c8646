"""HTML of a document: class names and one stylesheet, no script, no inline style, no outside request."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from engine.charts.pictures import chart_svg
from engine.charts.themes import Theme
from engine.display.document import Block, Card, Document, Notes, Picture, Table

_STYLESHEET = Path(__file__).with_name("report.css")


def stylesheet() -> str:
    """Return the stylesheet of the class names that start with `tl-`."""
    return _STYLESHEET.read_text("utf-8")


def html_of(document: Document, *, theme: Theme = "page", with_style: bool = True) -> str:
    """Write a document as an HTML fragment; without the stylesheet where the page has it already."""
    style = f"<style>{stylesheet()}</style>" if with_style else ""
    return f'<div class="tl-report">{style}{blocks_html(document.blocks, theme=theme)}</div>'


def page_of(document: Document, *, title: str) -> str:
    """Write a document as a whole HTML page that needs nothing from outside."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{stylesheet()}</style>\n</head>\n"
        f'<body class="tl-page">\n<main class="tl-report">\n<h1>{escape(title)}</h1>\n'
        f"{blocks_html(document.blocks, theme='page')}\n</main>\n</body>\n</html>\n"
    )


def blocks_html(blocks: Iterable[Block], *, theme: Theme = "page") -> str:
    """Write blocks one after the other."""
    return "\n".join(block_html(block, theme=theme) for block in blocks)


def block_html(block: Block, *, theme: Theme = "page") -> str:
    """Write one block: every text is escaped."""
    match block:
        case Card():
            return _card(block)
        case Table():
            return _table(block)
        case Picture():
            return _picture(block, theme)
        case Notes():
            return _notes(block)


def _card(card: Card) -> str:
    sentences = "".join(f"<p>{escape(one)}</p>" for one in card.sentences)
    following = "" if card.next_step is None else f"<p><strong>Next:</strong> {escape(card.next_step)}</p>"
    return (
        f'<section class="tl-card tl-{card.tone}"><p class="tl-label">{escape(card.label)}</p>'
        f'<p class="tl-name">{escape(card.title)}</p>'
        f'<p class="tl-headline">{escape(card.headline)}</p>{sentences}{following}</section>'
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in table.headings)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in table.rows
    )
    notes = "".join(f'<p class="tl-note">{escape(one)}</p>' for one in table.notes)
    return (
        f'<div class="tl-wide"><table class="tl-table"><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )


def _picture(picture: Picture, theme: Theme) -> str:
    return (
        f'<figure class="tl-wide tl-chart" role="img" aria-label="{escape(picture.title)}">'
        f"{chart_svg(picture.draw(theme=theme))}</figure>"
    )


def _notes(notes: Notes) -> str:
    lines = "".join(
        f'<li class="tl-check tl-check-{escape(kind)}"><strong>{escape(kind)}</strong> {escape(line)}</li>'
        for kind, line in notes.lines
    )
    return f'<section class="tl-notes"><h2>{escape(notes.title)}</h2><ul>{lines}</ul></section>'
