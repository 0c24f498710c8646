"""Segment values of a person in the reports of past nights."""

import zlib
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, Final

import msgspec

from engine.analysis.evidence.segments import Segment
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson
from pipeline.store.warehouse.erasure.segment_texts import ERASED
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX

# Names a key of an attribute that was dropped, of whichever visitor.
DROPPED_KEYS: Final = "custom_dimension_keys"


def blank_nights(cursor: Cursor, erased: ErasedPerson) -> None:
    """Write ERASED in the place of the person's texts in all nights of its project."""
    for experiment_id, day, content in _changed(cursor, erased):
        published.replace_night(cursor, experiment_id, day, content)


def count_nights(cursor: Cursor, erased: ErasedPerson) -> int:
    """Count the nights that still have one of the person's texts."""
    return sum(1 for _ in _changed(cursor, erased))


def _changed(cursor: Cursor, erased: ErasedPerson) -> Iterator[tuple[str, date, bytes]]:
    # A check of any experiment names the key of an attribute that one of the project's visitors had.
    for experiment_id, texts in {**dict.fromkeys(erased.experiments, ()), **erased.segments}.items():
        for day in published.list_kept(cursor, experiment_id):
            content = zlib.decompress(published.find_kept(cursor, experiment_id, day) or b"")
            if not texts and DROPPED_KEYS.encode() not in content:
                continue
            night = msgspec.json.decode(content)
            before = msgspec.json.encode(night)
            _blank_choices(night.get("available_segments", {}), texts)
            for name in ("report", "reached"):
                report = _without(night.get(name) or {}, texts)
                for check in report.get("health", []):
                    _blank_key(check)
                if report:
                    night[name] = report
            after = msgspec.json.encode(night)
            if after != before:
                yield experiment_id, day, zlib.compress(after)


def _blank_choices(choices: dict[str, Any], texts: Sequence[tuple[str, str]]) -> None:
    lists = {dimension: choices.get(one.plural, []) for dimension, one in DIMENSIONS.items()}
    for custom in choices.get("custom_dimensions", []):
        lists[CUSTOM_PREFIX + custom["key"]] = custom["values"]
    for dimension, value in texts:
        values = lists.get(dimension, [])
        if value in values:
            values.remove(value)
            # Once, however many are erased.
            if ERASED not in values:
                values.append(ERASED)
                values.sort()


def _without(value: Any, texts: Sequence[tuple[str, str]]) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON data whose records and sentences name no segment of the texts."""
    if isinstance(value, str):
        for text in texts:
            value = value.replace(str(Segment(*text)), str(Segment(text[0], ERASED)))
        return value
    if isinstance(value, list):
        return [_without(one, texts) for one in value]
    if not isinstance(value, dict):
        return value
    if (value.get("dimension"), value.get("value")) in texts:
        value = {**value, "value": ERASED}
    return {name: _without(one, texts) for name, one in value.items()}


def _blank_key(check: dict[str, Any]) -> None:
    """Blank the key of an attribute that was dropped."""
    details = check.get("details", {})
    key = details.get("key")
    if check.get("check") == DROPPED_KEYS and key:
        check["message"] = check["message"].replace(f"'{key}'", f"'{ERASED}'")
        details["key"] = ERASED
