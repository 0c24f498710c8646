"""Answers as they are stored: numbers apart from sentences, and the differences between two of them."""

import json
import math
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "data" / "store_0_1"
ANSWERS: Final = FOLDER / "answers"
SENTENCES: Final = FOLDER / "sentences"
RELATIVE_TOLERANCE: Final = 1e-9
ABSOLUTE_TOLERANCE: Final = 1e-12
# Fields with sentences, which may be reworded without any change of a number.
SENTENCE_FIELDS: Final = frozenset(
    {
        *("confidence_assessment", "description", "explanation", "headline", "hint", "message", "next_step"),
        *("reason", "recommendation_label", "score_description", "score_label", "summary", "text"),
    }
)
# Takes the place of a sentence in an answer.
SENTENCE: Final = "(sentence)"

Answers = dict[str, Any]
# Each sentence, and the places in an answer that have it.
Sentences = dict[str, list[str]]


def stored_answers(name: str) -> Answers:
    """The answers of version 0.1 in one file, without their sentences."""
    found: Answers = json.loads((ANSWERS / f"{name}.json").read_text())
    return found


def stored_sentences(name: str) -> Sentences:
    """The sentences of the present version in the same answers."""
    found: Sentences = json.loads((SENTENCES / f"{name}.json").read_text())
    return found


def without_sentences(answer: Any) -> Any:
    """The same answer with `SENTENCE` in the place of each sentence."""
    if isinstance(answer, list):
        return [without_sentences(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    return {
        key: SENTENCE if _is_sentence(key, value) else without_sentences(value)
        for key, value in answer.items()
    }


def sentences(answer: Any) -> Sentences:
    """Each sentence of an answer, and its places."""
    found: Sentences = {}
    for place, sentence in _sentences(answer, ""):
        found.setdefault(sentence, []).append(place)
    return found


def _sentences(answer: Any, place: str) -> Iterator[tuple[str, str]]:
    entries = enumerate(answer) if isinstance(answer, list) else answer.items()
    for key, value in entries:
        if _is_sentence(key, value):
            yield f"{place}/{key}", value
        elif isinstance(value, dict | list):
            yield from _sentences(value, f"{place}/{key}")


def _is_sentence(key: object, value: object) -> bool:
    return key in SENTENCE_FIELDS and isinstance(value, str)


def differences(then: Any, now: Any, place: str = "") -> Iterator[str]:
    """Each difference between two JSON values, one line each; floats are equal within 1e-9."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted({*then, *now}):
            if key not in now:
                yield f"{place}/{key}: is gone"
            elif key not in then:
                yield f"{place}/{key}: is new"
            else:
                yield from differences(then[key], now[key], f"{place}/{key}")
    elif (checks := _by_check(then)) and (others := _by_check(now)):
        yield from differences(checks, others, place)
    elif isinstance(then, list) and isinstance(now, list):
        for index, (one, other) in enumerate(zip_longest(then, now, fillvalue="(absent)")):
            yield from differences(one, other, f"{place}/{index}")
    elif not _are_equal(then, now):
        yield f"{place}: was {then!r}, is {now!r}"


def _by_check(values: Any) -> dict[str, Any]:
    """Map health checks by their names, among which later versions have further ones; {} for other values."""
    is_health = isinstance(values, list) and all(isinstance(one, dict) and "check" in one for one in values)
    return {one["check"]: one for one in values} if is_health else {}


def _are_equal(then: Any, now: Any) -> bool:
    if type(then) is float and type(now) is float:
        return math.isclose(then, now, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    # 1 is neither True nor 1.0 in JSON.
    return type(then) is type(now) and bool(then == now)
