"""Rows of the form of a draft: as many as the API takes, and none but those that were sent."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from api.dashboard.drafts.field_paths import INDEX, pattern_of
from api.dashboard.drafts.form_fields import CONDITION
from api.dashboard.drafts.ramp_fields import STEPS
from api.schemas.inputs import EXPERIMENT_INPUT

_ROW: Final = re.compile(rf"(.+){INDEX.pattern}")


def _most(record: str, name: str) -> int:
    described: Mapping[str, Any] = EXPERIMENT_INPUT.components[record]["properties"][name]
    most: int = described["maxItems"]
    return most


# By the list of a field, without the numbers of rows.
MOST_ROWS: Final[Mapping[str, int]] = {
    "variants": _most("ExperimentInput", "variants"),
    "variants[].changes": _most("VariantInput", "changes"),
    "goals": _most("ExperimentInput", "goals"),
    "url_rules": _most("ExperimentInput", "url_rules"),
    CONDITION: _most("Group", "children"),
    STEPS: _most("Ramp", "steps"),
}


class RowsError(ValueError):
    """Rows that no page has: more than the API takes, or one without those before it."""


def row_counts(form: Iterable[str]) -> dict[str, int]:
    """Return how many rows each list of a form has, by its path such as `variants[0].changes`; RowsError."""
    found: dict[str, set[int]] = {}
    for path in form:
        for index in INDEX.finditer(path):
            found.setdefault(path[: index.start()], set()).add(int(index[1]))
    return {rows: _count(rows, numbers) for rows, numbers in found.items()}


def _count(rows: str, numbers: Collection[int]) -> int:
    count, most = max(numbers) + 1, MOST_ROWS[pattern_of(rows)]
    if count > most:
        raise RowsError(f"{rows}: at most {most} are possible.")
    if len(numbers) < count:
        raise RowsError(f"{rows}: a row before {rows}[{count - 1}] is missing.")
    return count


def without_row(form: Mapping[str, str], row: str) -> dict[str, str]:
    """Remove a row, such as `goals[1]`; the rows after it move up."""
    found = _ROW.fullmatch(row)
    if found is None:
        return dict(form)
    rows, index = found[1], int(found[2])
    kept = {}
    for name, value in form.items():
        number, bracket, rest = name.removeprefix(f"{rows}[").partition("]")
        if not name.startswith(f"{rows}[") or not bracket or int(number) < index:
            kept[name] = value
        elif int(number) > index:
            kept[f"{rows}[{int(number) - 1}]{rest}"] = value
    return kept
