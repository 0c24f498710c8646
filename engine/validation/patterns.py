"""Checks of regular expressions and URL patterns, and matching in time linear in the text.

Regular expressions run on RE2: Python's engine backtracks, so `(a+)+$` against a long URL would take
minutes. Syntax that browsers read otherwise than RE2 is refused, so that both match the same pages.
"""

import re
from collections.abc import Callable
from functools import lru_cache

import re2

from engine.validation.values import is_web_address

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

# Match types that compare from the start of the URL, where a pattern without a scheme never matches.
_FROM_THE_START = frozenset({"exact", "starts_with"})


def pattern_problem(pattern: str) -> str | None:
    """Return why a regular expression cannot be used, or None if it can."""
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
    """Compile a valid pattern into a search anywhere in a text."""
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    # On bytes, RE2 does not convert the offsets of a match, which are not used.
    search: Callable[[bytes], object] = re2.compile(pattern.encode(), options).search
    return lambda text: search(text.encode(errors="replace")) is not None


def url_pattern_problem(match_type: str, pattern: str) -> str | None:
    """Return why a pattern could match no page, or None if it can; a path is one on any host."""
    if match_type == "regex":
        return pattern_problem(pattern)
    if any(character.isspace() for character in pattern):
        return "holds white space, which no address does; write it as %20"
    if match_type in _FROM_THE_START and not pattern.startswith("/") and not is_web_address(pattern):
        return (
            f"must be an absolute http or https address, or a path such as /checkout, to match {match_type}"
        )
    return None
