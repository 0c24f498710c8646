"""Content of a shown result: a card, tables and charts, which each format writes in its own way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Tone = Literal["positive", "negative", "neutral", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The verdict: its label and tone, one headline, why, and what to do next."""

    title: str
    label: str
    tone: Tone
    headline: str
    sentences: tuple[str, ...] = ()
    next_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells as text, under headings; the first column is a name, the others are numbers or words."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.headings) for row in self.rows):
            raise ValueError(f"a row of {self.title!r} has not as many cells as there are headings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A chart, drawn in a theme when it is needed, and what it shows for readers without it."""

    title: str
    draw: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Sentences under a title, each with its kind: `ok`, `warning` or `alarm`."""

    title: str
    lines: tuple[tuple[str, str], ...]


Block = Card | Table | Picture | Notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A shown result: its lines in a terminal, and its blocks in order."""

    summary: tuple[str, ...]
    blocks: tuple[Block, ...]
