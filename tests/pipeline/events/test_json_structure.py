"""Structure of JSON texts, against the standard decoder."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events import json_structure
from pipeline.events.json_structure import MAX_DEPTH, NestingError, structure

VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.text('\\"[]{},:'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('\\"ab:'), inner),
)


def tokens_of(text: bytes) -> list[tuple[int, str, int]]:
    return [
        (int(position), chr(character), int(level))
        for tokens in structure(text)
        for position, character, level in zip(*tokens, strict=True)
    ]


def expected(text: str) -> list[tuple[int, str, int]]:
    """The same, one character after the other."""
    found, depth, in_string, is_escaped = [], 0, False, False
    for position, character in enumerate(text):
        if in_string:
            in_string = is_escaped or character != '"'
            is_escaped = not is_escaped and character == "\\"
            continue
        in_string = character == '"'
        depth += character in "[{"
        if character in "[]{},:":
            found.append((position, character, depth))
        depth -= character in "]}"
    return found


@given(VALUES, st.integers(1, 9))
def test_slices_of_any_size_have_the_structure_of_the_whole(value: object, size: int) -> None:
    text = json.dumps(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_structure, "SLICE_BYTES", size)
        assert tokens_of(text.encode()) == expected(text)
        assert len(list(structure(text.encode()))) == -(-len(text) // size)


@pytest.mark.parametrize(
    "text", [b"[", b"]", b'["', b'{"a":"\\"}', b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)]
)
def test_unmatched_and_deep_brackets_are_refused(text: bytes) -> None:
    with pytest.raises(NestingError):
        tokens_of(text)


def test_the_deepest_that_passes_passes() -> None:
    levels = [level for _, _, level in tokens_of(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)]
    assert levels == [*range(1, MAX_DEPTH + 1), *range(MAX_DEPTH, 0, -1)]


def test_deep_brackets_are_refused_in_the_first_slice() -> None:
    slices = structure(b"[" * 10 * json_structure.SLICE_BYTES)
    with pytest.raises(NestingError, match="nested more than"):
        next(slices)


def test_a_text_without_structure_has_no_tokens() -> None:
    assert all(np.size(tokens.positions) == 0 for tokens in structure(b'"a,b"'))
    assert tokens_of(b"") == []
