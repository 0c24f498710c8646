"""Opened revision of a form: what others have saved since, beside what was typed."""

import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Final, Self

from api.bodies.json_body import read_json
from api.dashboard.drafts.draft_form import RULES, Form
from api.dashboard.drafts.field_paths import pattern_of
from api.dashboard.drafts.form_fields import FIELDS

# Hidden fields: the tag of the experiment as the form was opened with it, and digests of its fields.
REVISION: Final = "revision"
OPENED: Final = "opened"
_DIGEST_BYTES: Final = 6
# Steps of a path that a person need not know.
_UNNAMED: Final = frozenset({"config", "targeting_rules", "root", "settings", "integrations"})
# Fields of a draft that are boxes to check.
_FLAGS: Final = frozenset(pattern for pattern, read in FIELDS.items() if read("") is False)


@dataclass(frozen=True, slots=True)
class SavedField:
    """A field that was saved since the form was opened."""

    path: str
    saved: str
    typed: str
    # The form keeps what was typed; a field that was left alone has what was saved.
    is_typed: bool

    @property
    def label(self) -> str:
        """The field in words: `Variant 2, weight`."""
        words = [_word(step) for step in self.path.split(".") if step not in _UNNAMED]
        return ", ".join(words).capitalize()


@dataclass(frozen=True, slots=True)
class OpenedRevision:
    """The revision that a form was opened with: its tag, and a digest of each field that has a value."""

    tag: str
    digests: Mapping[str, str]

    @classmethod
    def of(cls, tag: str, form: Mapping[str, str]) -> Self:
        """Take the fields of the form of an experiment, and the experiment's tag."""
        return cls(tag, {path: _digest(value) for path, value in form.items() if value and _is_saved(path)})

    @classmethod
    def sent(cls, fields: Mapping[str, str]) -> Self:
        """Read the hidden fields of a form; without digests every field counts as typed."""
        try:
            digests = read_json(fields.get(OPENED, "").encode())
        except ValueError:
            digests = None
        return cls(fields.get(REVISION, ""), digests if isinstance(digests, dict) else {})

    @property
    def hidden(self) -> str:
        """The digests, as the hidden field has them."""
        return json.dumps(self.digests, separators=(",", ":"))

    def differs(self, form: Mapping[str, str], path: str) -> bool:
        """Tell whether a field has another value than it was opened with."""
        value = form.get(path, "")
        return self.digests.get(path, "") != (_digest(value) if value else "")

    def merged(
        self,
        form: Mapping[str, str],
        saved: Mapping[str, str],
        sent: Mapping[str, str],
        flags: Container[str] = _FLAGS,
    ) -> tuple[Form, list[SavedField]]:
        """Merge the form with what was saved since; also return the fields that this is about.

        What was typed stays. A list of which anything was typed stays whole; of `sent`, the fields of the
        browser, those are absent that it hid. `flags` are the fields that are boxes to check.
        """
        both = dict.fromkeys([*saved, *form])
        typed = {_group(path) for path in both if self._is_typed(form, path, sent, flags)}
        ids = {value for path, value in saved.items() if path.endswith(".id")}
        whole = {path: value for path, value in saved.items() if _group(path) not in typed}
        for path, value in form.items():
            if _group(path) in typed or not _is_saved(path):
                # An item that is gone is made anew.
                whole[path] = "" if path.endswith(".id") and value not in ids else value
        changed = [
            SavedField(path, _shown(path, saved, flags), _shown(path, whole, flags), _group(path) in typed)
            for path in both
            if _is_saved(path) and not path.endswith(".id") and self.differs(saved, path)
        ]
        return whole, [one for one in changed if not one.is_typed or one.saved != one.typed]

    def _is_typed(
        self, form: Mapping[str, str], path: str, sent: Mapping[str, str], flags: Container[str]
    ) -> bool:
        # A box that is not checked is not sent either.
        is_hidden = path in form and path not in sent and pattern_of(path) not in flags
        return _is_saved(path) and not is_hidden and self.differs(form, path)


def _is_saved(path: str) -> bool:
    return not path.startswith("plan.")


def _group(path: str) -> str:
    """Return the list that a field is part of; a field outside of lists is a group of its own."""
    return RULES if path.startswith(RULES) else path.partition("[")[0]


def _digest(value: str) -> str:
    return hashlib.blake2b(value.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _shown(path: str, form: Mapping[str, str], flags: Container[str]) -> str:
    value = form.get(path, "")
    return ("yes" if value else "no") if pattern_of(path) in flags else value


def _word(step: str) -> str:
    name, _, index = step.removesuffix("]").partition("[")
    name = name.replace("children", "conditions").replace("_", " ")
    return f"{name.removesuffix('s')} {int(index) + 1}" if index else name
