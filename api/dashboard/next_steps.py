"""Next steps: the words of the button that fits a verdict, which name the variant that visitors get."""

from typing import Final

from engine.analysis.results.verdict_words import Verdict

_LONGEST: Final = 40


def next_step(verdict: Verdict, variant: str | None, control: str | None) -> str:
    """Return the words of the step: "Ship “One page”"; "Decide" where the verdict leaves it open."""
    if verdict == "ship" and variant:
        return f"Ship “{_short(variant)}”"
    if verdict == "rollback" and control:
        return f"Roll back, keep “{_short(control)}”"
    if verdict == "no_difference" and control:
        return f"End, keep “{_short(control)}”"
    return "Decide"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1].rstrip() + "…"
