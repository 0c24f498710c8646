"""MurmurHash3 (x86, 32 bits, seed 0) of a text in UTF-8 as an SQL expression, for DuckDB and Spark.

Integer arithmetic alone: in DuckDB within the 64 bits of UBIGINT, in Spark within the 63 of BIGINT. Spark's
own `hash` has another seed, and takes the end of a text otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

Dialect = Literal["duckdb", "spark"]

_MASK: Final = (1 << 32) - 1
_FIRST: Final = 0xCC9E2D51
_SECOND: Final = 0x1B873593
_STEP: Final = 0xE6546B64
# Name, shift and factor of the last rounds.
_ROUNDS: Final = (("p", 16, 0x85EBCA6B), ("q", 13, 0xC2B2AE35))
_LAST_SHIFT: Final = 16
# Digits of base 16 of four bytes, the last byte first.
_PAIRS: Final = (7, 5, 3, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """What the dialects write differently; `{0}` and on are the arguments."""

    digits: str
    """Digits of base 16 of a text."""
    number: str
    """Number of such digits."""
    blocks: str
    """List of each eight of them."""
    each: str
    reduced: str
    bound: str
    """Expression with a value under a name, so that it is computed once."""
    xor: str
    right: str
    halved: str
    times: str
    """Product in 32 bits with a factor, whose halves are `{2}` and `{3}`."""
    turned: str
    """32 bits turned to the left, by the binary logarithm of `{2}`, so that `{1}` go to the right."""
    repeats: bool
    """Whether these two have their argument more than once."""

    def once(self, value: str, name: str, expression: Callable[[str], str]) -> str:
        return self.bound.format(value, name, expression(name)) if self.repeats else expression(value)

    def multiply(self, value: str, factor: int) -> str:
        return self.times.format(value, factor, *divmod(factor, 1 << 16))

    def turn(self, value: str, bits: int) -> str:
        return self.turned.format(value, 32 - bits, 1 << bits)

    def mix(self, block: str) -> str:
        """Mix a block that has a name."""
        turned = self.once(self.multiply(block, _FIRST), "m", partial(self.turn, bits=15))
        return self.once(turned, "n", partial(self.multiply, factor=_SECOND))

    def step(self, state: str, block: str) -> str:
        turned = self.once(self.xor.format(state, block), "x", partial(self.turn, bits=13))
        return f"(({turned} * 5 + {_STEP}) & {_MASK})"

    def fold(self, value: str, shift: int) -> str:
        return self.xor.format(value, self.right.format(value, shift))

    def block_of(self, digits: str) -> str:
        pairs = " || ".join(f"substr({digits}, {place}, 2)" for place in _PAIRS)
        return self.number.format(f"({pairs})")

    def end_of(self, digits: str) -> str:
        """Mix the digits behind the last whole block, filled up to one."""
        end = f"rpad(substr({digits}, length({digits}) - length({digits}) % 8 + 1), 8, '0')"
        return self.bound.format(self.bound.format(end, "e", self.block_of("e")), "w", self.mix("w"))

    def hash(self, digits: str) -> str:
        """Hash digits that have a name."""
        blocks = self.each.format(self.blocks.format(digits), "b", self.block_of("b"))
        state = self.reduced.format(self.each.format(blocks, "v", self.mix("v")), self.step("h", "k"))
        state = self.xor.format(self.xor.format(state, self.end_of(digits)), self.halved.format(digits))
        for name, shift, factor in _ROUNDS:
            state = self.bound.format(state, name, self.fold(name, shift))
            state = self.once(state, f"{name}{name}", partial(self.multiply, factor=factor))
        return self.bound.format(state, "r", self.fold("r", _LAST_SHIFT))


_DIALECTS: Final[dict[Dialect, _Dialect]] = {
    "duckdb": _Dialect(
        digits="hex(encode({0}))",
        number="('0x' || {0})::UBIGINT",
        blocks="regexp_extract_all({0}, '.{{8}}')",
        each="list_transform({0}, lambda {1}: {2})",
        reduced="list_reduce({0}, lambda h, k: {1}, 0::UBIGINT)",
        bound="list_transform([{0}], lambda {1}: {2})[1]",
        xor="xor({0}, {1})",
        right="({0} >> {1})",
        halved="(length({0}) // 2)::UBIGINT",
        times="(({0} * {1}) & 4294967295)",
        # A number beside itself, cut out further to the left.
        turned="((({0} * 4294967297) >> {1}) & 4294967295)",
        repeats=False,
    ),
    "spark": _Dialect(
        digits="hex(encode({0}, 'UTF-8'))",
        number="CAST(conv({0}, 16, 10) AS BIGINT)",
        blocks="regexp_extract_all({0}, '.{{8}}', 0)",
        each="transform({0}, {1} -> {2})",
        reduced="aggregate({0}, CAST(0 AS BIGINT), (h, k) -> {1})",
        bound="transform(array({0}), {1} -> {2})[0]",
        xor="({0} ^ {1})",
        right="shiftrightunsigned({0}, {1})",
        halved="CAST(length({0}) DIV 2 AS BIGINT)",
        # By halves, since the whole needs 64 bits.
        times="(({0} * {3} + ({0} * {2} & 65535) * 65536) & 4294967295)",
        turned="(({0} * {2} | shiftrightunsigned({0}, {1})) & 4294967295)",
        repeats=True,
    ),
}


def murmur_sql(text: str, dialect: Dialect) -> str:
    """Return the hash of a text expression, from 0 to below 2^32; null of null."""
    use = _DIALECTS[dialect]
    return use.bound.format(use.digits.format(text), "t", use.hash("t"))
