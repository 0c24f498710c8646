"""Holders: places that can hold texts about a person, with what removes them and what reads them back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, cast, get_args

from engine.design.project import Project
from pipeline.services import PipelineServices
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson

Medium = Literal["warehouse", "catalog", "file", "outside"]
# What a column or a file can hold. `team` is written by members of the account or their code, `encrypted` is
# encrypted or hashed, `copy` is a whole store, and `document` may quote any of the others.
Text = Literal[
    "visitor_id",
    "user_id",
    "key",
    "address",
    "attribute",
    "url",
    "event",
    "document",
    "copy",
    "team",
    "encrypted",
    "nothing",
]
PERSONAL: Final = frozenset[str](get_args(Text)) - {"team", "encrypted", "nothing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasing:
    """An erasure under way: the person is gone from the warehouse's tables, and is removed from the rest."""

    services: PipelineServices
    project: Project
    erased: ErasedPerson


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A table, a kind of file or another place, and the text that each of its columns can hold.

    `where` are patterns of the table's name, or of paths in the data folder, with spaces between. `texts` are
    by the pattern of a column; that of a file is `*`. `remove` acts in the transaction that removes the
    person's events, and `erase` after it; both may be done again. `left` counts what is read back of the
    person. A place with personal texts that is not erased says in `kept` for how long they stay, and why.
    """

    name: str
    medium: Medium
    where: str
    texts: Mapping[str, Text]
    remove: Callable[[Cursor, ErasedPerson], None] | None = None
    erase: Callable[[Erasing], None] | None = None
    left: Callable[[Erasing], int] | None = None
    kept: str = ""

    def is_of(self, name: str) -> bool:
        """Tell whether a table or a path is one of this holder's."""
        return any(fnmatchcase(name, pattern) for pattern in self.where.split())

    def text_of(self, column: str) -> Text | None:
        """Return what a column can hold; None where it is not declared."""
        return next((text for name, text in self.texts.items() if fnmatchcase(column, name)), None)

    @property
    def is_personal(self) -> bool:
        """Whether it can hold texts about a person."""
        return not PERSONAL.isdisjoint(self.texts.values())


def columns(**names: str) -> dict[str, Text]:
    """Declare columns, or patterns of them with spaces between, by the kind of their text."""
    return {name: cast("Text", kind) for kind, listed in names.items() for name in listed.split()}
