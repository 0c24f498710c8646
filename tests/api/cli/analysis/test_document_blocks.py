"""Documents in a terminal: every word of their cards, tables and notes."""

from rich.console import Console

from api.cli.analysis.document_blocks import render_document
from engine.display.document import Card, Document, Notes, Table


def test_a_card_a_table_and_notes_are_printed_in_order() -> None:
    card = Card(
        title="Shop",
        label="Ship",
        tone="positive",
        headline="B wins.",
        sentences=("It is up.",),
        next_step="Go.",
    )
    table = Table(
        title="Buyers", headings=("Variant", "Rate"), rows=(("B [new]", "12%"),), notes=("By day.",)
    )
    notes = Notes(title="Health", lines=(("alarm", "No events."),))
    console = Console(width=100, record=True, markup=False)
    with console.capture() as printed:
        console.print(render_document(Document(summary=(), blocks=(card, table, notes))))
    words = " ".join(printed.get().replace("│", " ").split())
    expected = (
        "Shop: Ship",
        "B wins.",
        "It is up.",
        "Next: Go.",
        "Buyers",
        "Variant",
        "12%",
        "By day.",
        "alarm: No",
    )
    places = [words.index(part) for part in expected]
    assert places == sorted(places)
