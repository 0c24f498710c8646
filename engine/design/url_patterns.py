"""Which pattern of a page's address each match type takes."""

from engine.design.checks import is_web_address
from engine.design.patterns import pattern_problem

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
