"""Shown results in a terminal: the cards, tables and notes of a document, without its charts."""

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table as TerminalTable
from rich.text import Text

from api.cli.report_table import TONE_STYLE
from engine.display.document import Block, Card, Document, Notes, Picture, Table


def render_document(document: Document) -> Group:
    """Render the blocks of a document in order."""
    return Group(*(_rendered(block) for block in document.blocks if not isinstance(block, Picture)))


def _rendered(block: Block) -> RenderableType:
    match block:
        case Card():
            return _card(block)
        case Table():
            return _table(block)
        case Notes():
            return Text("\n".join([block.title, *(f"{kind}: {line}" for kind, line in block.lines)]))
        case Picture():
            return Text(block.title)


def _card(card: Card) -> Panel:
    text = Text()
    text.append(card.headline, style="bold")
    for sentence in card.sentences:
        text.append(f"\n{sentence}")
    if card.next_step is not None:
        text.append("\nNext: ", style="bold")
        text.append(card.next_step)
    return Panel(
        text, title=f"{card.title}: {card.label}", title_align="left", border_style=TONE_STYLE[card.tone]
    )


def _table(table: Table) -> Group:
    shown = TerminalTable(title=table.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for index, heading in enumerate(table.headings):
        shown.add_column(heading, justify="right" if index else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    return Group(shown, *map(Text, table.notes))
