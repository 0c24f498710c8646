"""Published assignment vectors: visits with the variants that every implementation gives them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

FILE: Final = Path(__file__).parent / "vectors" / "assignment_vectors.json"
FORMAT: Final = 1
# Expected where only the service can tell the variant.
ASK: Final = "ask"
# Answered by an implementation that does not take such visits.
SKIP: Final = "skip"
GROUPS: Final = {
    "split": "Weights, traffic allocations, salts and bucketing versions.",
    "letters": "Visitor ids of any letters, hashed as UTF-8.",
    "pages": "Pages by each match type, with rules that include and exclude.",
    "targeting": "One condition of every targeting field with each of its operators.",
    "groups": "Conditions in groups: and, or, not.",
    "unit": "Users and accounts instead of visitors.",
    "stored": "Visitors with a variant from before, and paused experiments.",
    "epochs": "Weights that changed: by the time first seen, by the variant from before, or to be asked for.",
    "exclusion": "Slots of exclusion groups, with traffic allocations, units and variants from before.",
    "rollouts": "Shipped variants, for everybody on the pages who is targeted, whatever the test gave.",
}

Answer = int | Literal["ask", "skip"] | None
_decode: Final = msgspec.json.Decoder(list[Answer]).decode


class UnreadableAnswersError(ValueError):
    """Answers that are no array of as many entries as the file has cases."""


@dataclass(frozen=True, slots=True)
class CheckedCase:
    """A case of the file with the answer of an implementation."""

    case: Mapping[str, Any]
    answer: Answer

    @property
    def outcome(self) -> Literal["equal", "different", "skipped"]:
        """How the answer compares with the expected one."""
        if self.answer == SKIP:
            return "skipped"
        return "equal" if self.answer == self.case["expected"] else "different"


def check_answers(content: bytes) -> list[CheckedCase]:
    """Compare a JSON array of answers with the cases, in their order; UnreadableAnswersError."""
    try:
        answers = _decode(content)
    except msgspec.MsgspecError as error:
        raise UnreadableAnswersError(
            f"the answers must be a JSON array of variant indexes, null, {ASK!r} or {SKIP!r}: {error}"
        ) from error
    cases = _cases()
    if len(answers) != len(cases):
        raise UnreadableAnswersError(
            f"there are {len(answers):,} answers to {len(cases):,} cases; give one for each, "
            f"{SKIP!r} where a visit is none that you decide on"
        )
    return list(map(CheckedCase, cases, answers))


def by_group(checked: Sequence[CheckedCase]) -> Iterator[dict[str, object]]:
    """Yield the number of answers of each outcome, by group."""
    for group in GROUPS:
        outcomes = [one.outcome for one in checked if one.case["group"] == group]
        counts = {name: outcomes.count(name) for name in ("equal", "different", "skipped")}
        yield {"group": group, "cases": len(outcomes), **counts}


@cache
def _cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(FILE.read_bytes())["cases"]
    return found
