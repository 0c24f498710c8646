"""Hashes of many texts at once: murmur3_x64_128 by columns, equal to `hash64` of each text."""

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

_Bytes = npt.NDArray[np.uint8]
_Words = npt.NDArray[np.uint64]

_BLOCK_BYTES: Final = 16
_WORD_BYTES: Final = 8
_NOTHING: Final = np.zeros(0, np.uint8)
_PADDING: Final = np.zeros(_BLOCK_BYTES, np.uint8)
# Constants of the algorithm.
_FIRST: Final = np.uint64(0x87C37B91114253D5)
_SECOND: Final = np.uint64(0x4CF5AD432745937F)
_FINAL: Final = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
# Few enough for the caches of a processor.
_AT_ONCE: Final = 4_096
_HALF: Final = np.uint64(33)
# Keeps the first n bytes of a little-endian word, for n = 0 to 8.
_FIRST_BYTES: Final = np.array([(1 << (8 * count)) - 1 for count in range(_WORD_BYTES + 1)], np.uint64)


def hash_texts(texts: pl.Series) -> pl.Series:
    """Hash each text (UInt64), in order; null for null.

    It is the first half of MurmurHash3_x64_128 with the seed 0, of the text in UTF-8: Austin Appleby's public
    domain algorithm (SMHasher). All texts are hashed a block of 16 bytes at a time.
    """
    if texts.null_count() == len(texts):
        return pl.Series(texts.name, [None], pl.UInt64).new_from_index(0, len(texts))
    # As offsets into one run of bytes.
    arrow = texts.fill_null("").to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, content = arrow.buffers()
    ends = np.frombuffer(offsets, np.int64)[arrow.offset : arrow.offset + len(arrow) + 1]
    given = np.frombuffer(content, np.uint8) if content else _NOTHING
    parts = [_hashes(given, ends[first : first + _AT_ONCE + 1]) for first in range(0, len(arrow), _AT_ONCE)]
    hashes = pl.Series(texts.name, np.concatenate(parts))
    return hashes.set(texts.is_null(), None) if texts.null_count() else hashes


def _hashes(content: _Bytes, ends: npt.NDArray[np.int64]) -> _Words:
    """Hash the texts that end at `ends`, but the first, and begin where the one before does."""
    lengths = np.diff(ends)
    words = _words_at_each_byte(content[ends[0] : ends[-1]])
    starts = ends[:-1] - ends[0]
    blocks = lengths // _BLOCK_BYTES
    h1, h2 = _hash_blocks(words, starts, blocks)
    tails, rest = starts + _BLOCK_BYTES * blocks, lengths % _BLOCK_BYTES
    first = np.minimum(rest, _WORD_BYTES)
    h1 ^= _mix_first(words[tails] & _FIRST_BYTES[first])
    h2 ^= _mix_second(words[tails + _WORD_BYTES] & _FIRST_BYTES[rest - first])
    return _finalize(h1, h2, lengths.astype(np.uint64))


def _words_at_each_byte(content: _Bytes) -> _Words:
    """Return the word of the 8 bytes from each byte on."""
    # The last text is read as if a block followed it.
    padded = np.concatenate([content, _PADDING])
    return np.ndarray((len(padded) - _WORD_BYTES + 1,), "<u8", padded, strides=(1,))


def _hash_blocks(
    words: _Words, starts: npt.NDArray[np.int64], blocks: npt.NDArray[np.int64]
) -> tuple[_Words, _Words]:
    """Return the two halves of the state of each text after its whole blocks."""
    h1, h2 = np.zeros(len(starts), np.uint64), np.zeros(len(starts), np.uint64)
    for block in range(int(blocks.max(initial=0))):
        longer = np.flatnonzero(blocks > block)
        chosen = slice(None) if len(longer) == len(starts) else longer
        at = starts[chosen] + _BLOCK_BYTES * block
        first, second = h1[chosen], h2[chosen]
        first = _rotated(first ^ _mix_first(words[at]), 27) + second
        first = first * np.uint64(5) + np.uint64(0x52DCE729)
        second = _rotated(second ^ _mix_second(words[at + _WORD_BYTES]), 31) + first
        second = second * np.uint64(5) + np.uint64(0x38495AB5)
        h1[chosen], h2[chosen] = first, second
    return h1, h2


def _finalize(h1: _Words, h2: _Words, lengths: _Words) -> _Words:
    h1, h2 = h1 ^ lengths, h2 ^ lengths
    h1 = h1 + h2
    h2 = h2 + h1
    return _avalanche(h1) + _avalanche(h2)


def _mix_first(words: _Words) -> _Words:
    return _rotated(words * _FIRST, 31) * _SECOND


def _mix_second(words: _Words) -> _Words:
    return _rotated(words * _SECOND, 33) * _FIRST


def _avalanche(words: _Words) -> _Words:
    for factor in _FINAL:
        words = (words ^ (words >> _HALF)) * factor
    return words ^ (words >> _HALF)


def _rotated(words: _Words, bits: int) -> _Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
