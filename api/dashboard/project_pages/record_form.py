"""Forms of a record: from what the API answers, from what a browser sends, and to what the API takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from api.dashboard.drafts.field_paths import INDEX, pattern_of, put
from api.dashboard.drafts.form_fields import CHECKED, FIELDS, Reader

Form = dict[str, str]
# Readers of the form of a draft.
TEXT: Final[Reader] = FIELDS["name"]
NUMBER: Final[Reader] = FIELDS["traffic_allocation"]
FLAG: Final[Reader] = FIELDS["public_variants"]
TIME: Final[Reader] = FIELDS["scheduled_end_at"]
LINES: Final[Reader] = FIELDS["statistics.covariates"]


@dataclass(frozen=True, slots=True)
class RecordForm:
    """The fields of a form by their paths, such as `settings.domains` or `environments[].key`.

    An empty field stands for the default, but for those of `required`. What is inside of one of `wholes`
    is sent together, as the API replaces it whole.
    """

    readers: Mapping[str, Reader]
    required: frozenset[str] = frozenset()
    wholes: frozenset[str] = frozenset()
    flags: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Find the fields that are boxes to check."""
        flags = frozenset(path for path, read in self.readers.items() if read("") is False)
        object.__setattr__(self, "flags", flags)

    @property
    def lists(self) -> frozenset[str]:
        """Paths of the lists that have rows."""
        return frozenset(path.partition("[]")[0] for path in self.readers if "[]" in path)

    def of(self, record: Mapping[str, Any]) -> Form:
        """Return the form of a record."""
        form: Form = {}
        for pattern in self.readers:
            rows, marker, rest = pattern.partition("[].")
            if marker:
                for index, item in enumerate(_at(record, rows) or ()):
                    form[f"{rows}[{index}].{rest}"] = _shown(_at(item, rest))
            else:
                form[pattern] = _shown(_at(record, pattern))
        return form

    def sent(self, fields: Mapping[str, str]) -> Form:
        """Return the form that a browser sent; unknown fields and rows without a value are left out."""
        texts = {path: value.replace("\r\n", "\n").strip() for path, value in fields.items()}
        form = {path: texts.get(path, "") for path in self.readers if "[]" not in path}
        for rows in self.lists:
            names = [path.partition("[].")[2] for path in self.readers if path.startswith(f"{rows}[].")]
            found = {int(one[1]) for path in texts if path.startswith(rows) and (one := INDEX.search(path))}
            typed = [
                values
                for index in sorted(found)
                if any(values := [texts.get(f"{rows}[{index}].{name}", "") for name in names])
            ]
            for index, values in enumerate(typed):
                form |= {f"{rows}[{index}].{name}": one for name, one in zip(names, values, strict=True)}
        return form

    def rows(self, form: Mapping[str, str], name: str) -> int:
        """Return how many rows a list of a form has."""
        return len({path.partition("]")[0] for path in form if path.startswith(f"{name}[")})

    def body(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the body that creates a record; empty fields are left out."""
        body: dict[str, Any] = {}
        for path, value in form.items():
            self._put(body, path, value)
        return body

    def changed(self, form: Mapping[str, str], before: Mapping[str, str]) -> frozenset[str]:
        """Return the fields, or what is sent whole, in which two forms differ."""
        paths = {path for path in {*form, *before} if form.get(path, "") != before.get(path, "")}
        return frozenset(self._part(path) for path in paths)

    def changes(self, form: Mapping[str, str], before: Mapping[str, str]) -> dict[str, Any]:
        """Return the body that makes the record of the form `before` that of the form."""
        body: dict[str, Any] = {}
        changed = self.changed(form, before)
        for path, value in form.items():
            part = self._part(path)
            if part in changed:
                if part == path and not value and path not in self.required | self.flags:
                    put(body, path, None)
                else:
                    self._put(body, path, value)
        for part in changed & self.wholes:
            if _at(body, part) is None:
                put(body, part, [] if part in self.lists else {})
        return body

    def _put(self, body: dict[str, Any], path: str, value: str) -> None:
        pattern = pattern_of(path)
        if value or pattern in self.required | self.flags:
            put(body, path, self.readers[pattern](value))

    def _part(self, path: str) -> str:
        return next((whole for whole in self.wholes if path.startswith((f"{whole}.", f"{whole}["))), path)


def _at(record: Any, path: str) -> Any:  # noqa: ANN401 - nested JSON
    for step in path.split("."):
        record = record.get(step) if isinstance(record, Mapping) else None
    return record


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return CHECKED if value else ""
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)
