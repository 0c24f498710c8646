"""Which regular expressions people may write, and matching them in time linear in the text.

They run on RE2: Python's own engine backtracks, so `(a+)+$` against a long page address would hold up
the service for minutes. What the browser's engine reads otherwise than RE2 is refused, so that both
match the same pages.


Which pattern of a page's address each match type takes.
"""

import re
from collections.abc import Callable
from functools import lru_cache

import re2

from engine.design.validation.values import is_web_address

LONGEST = 500
_MEMORY_BYTES = 1 << 20
# An escaped character is one token, so that `\\(?` is not mistaken for `(?`.
_TOKEN = re.compile(r"\\x\{|\\.|\[\^?\]|\[\[:|\(\?:|\(\?|.", re.DOTALL)
_NOT_PORTABLE = {
    "(?": "a group that starts with (? but is not (?:…)",
    "[[:": "a named class such as [[:alpha:]]",
    "[]": "an empty class []",
    "[^]": "an empty class [^]",
    "\\x{": "\\x{…}; write the character itself",
    **{f"\\{letter}": f"\\{letter}" for letter in "AzZQECapP"},
}


def pattern_problem(pattern: str) -> str | None:
    """Say why a regular expression cannot be used, or None if it can."""
    if len(pattern) > LONGEST:
        return f"is a regular expression of {len(pattern):,} characters; at most {LONGEST} are possible"
    for token in _TOKEN.findall(pattern):
        if token in _NOT_PORTABLE:
            return f"uses {_NOT_PORTABLE[token]}, which browsers read differently; write it another way"
    try:
        compile_pattern(pattern)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        return f"is no regular expression that runs in linear time: {reason}"
    return None


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern that has no problem into a test whether it occurs anywhere in a text."""
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    # On bytes, RE2 does not count characters for the offsets of a match that nobody asks for.
    search: Callable[[bytes], object] = re2.compile(pattern.encode(), options).search
    return lambda text: search(text.encode(errors="replace")) is not None


# These are compared with a whole address from its start on, so a pattern without a scheme never matches.
_FROM_THE_START = frozenset({"exact", "starts_with"})


def url_pattern_problem(match_type: str, pattern: str) -> str | None:
    """Say why a pattern could never match a page, or None if it can; a path stands for it on any host."""
    if match_type == "regex":
        return pattern_problem(pattern)
    if any(character.isspace() for character in pattern):
        return "holds white space, which no address does; write it as %20"
    if match_type in _FROM_THE_START and not pattern.startswith("/") and not is_web_address(pattern):
        return (
            f"must be an absolute http or https address, or a path such as /checkout, to match {match_type}"
        )
    return None
