"""Markdown of a document: headings, tables and lists, without the charts."""

import re

from engine.display.document import Block, Card, Document, Notes, Picture, Table

# What Markdown, or the HTML within it, would read as more than text.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown_of(document: Document) -> str:
    """Write a document as GitHub-flavoured Markdown; names and sentences are escaped."""
    return "\n\n".join(text for text in map(_block, document.blocks) if text) + "\n"


def _block(block: Block) -> str:
    match block:
        case Card():
            parts = [
                f"## {_text(block.title)}: {_text(block.label)}",
                f"**{_text(block.headline)}**",
                *map(_text, block.sentences),
            ]
            if block.next_step is not None:
                parts.append(f"**Next:** {_text(block.next_step)}")
            return "\n\n".join(parts)
        case Table():
            cells = [block.headings, *block.rows]
            head, *rows = ("| " + " | ".join(map(_text, line)) + " |" for line in cells)
            rule = "|---|" + "---:|" * (len(block.headings) - 1)
            notes = "".join(f"\n\n{_text(one)}" for one in block.notes)
            return "\n".join([f"### {_text(block.title)}", "", head, rule, *rows]) + notes
        case Picture():
            return ""
        case Notes():
            lines = [f"- **{_text(kind)}**: {_text(line)}" for kind, line in block.lines]
            return "\n".join([f"### {_text(block.title)}", "", *lines])


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
