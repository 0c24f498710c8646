"""Blanking of a person's texts in documents that quote them, such as messages and stored replies."""

import re
from collections.abc import Collection
from typing import Any, Final

from pipeline.store.warehouse.erasure.segment_texts import ERASED

# A shorter text is a person's in quotes, or alone, and a word of a sentence otherwise.
_LONG: Final = 6
_WORD: Final = r"\w"


class Blanking:
    """Texts of a person, and their replacement by ERASED wherever one is quoted."""

    def __init__(self, texts: Collection[str]) -> None:
        """Look for these texts; ERASED itself is none of them."""
        self._texts = frozenset(texts) - {ERASED, ""}
        in_order = sorted(self._texts, key=lambda text: (-len(text), text))
        long = "|".join(re.escape(text) for text in in_order if len(text) >= _LONG)
        quoted = "|".join(re.escape(text) for text in in_order)
        parts = [f"(?<={quote})(?:{quoted})(?={quote})" for quote in ("'", '"')]
        if long:
            parts.append(f"(?<!{_WORD})(?:{long})(?!{_WORD})")
        self._pattern = re.compile("|".join(parts)) if self._texts else None

    def apply(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return JSON data, or a text, without the texts; names of fields stay as they are."""
        if isinstance(value, str):
            if value in self._texts:
                return ERASED
            return self._pattern.sub(ERASED, value) if self._pattern else value
        if isinstance(value, list):
            return [self.apply(one) for one in value]
        if isinstance(value, dict):
            return {key: self.apply(one) for key, one in value.items()}
        return value
