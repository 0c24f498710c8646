"""Ramp of a draft's form: its steps as rows, and what is done on harm."""

from collections.abc import Mapping
from typing import Any, Final

from api.dashboard.drafts.field_paths import INDEX
from engine.vocabulary import HarmAction

STEPS: Final = "ramp.steps"
ON_HARM: Final = "ramp.on_harm"
DEFAULT_ACTION: Final[HarmAction] = "rollback"
HARM_SENTENCES: Final[Mapping[HarmAction, str]] = {
    "rollback": "Roll back ends the test for good, with the decision to keep the control: everybody sees the "
    "original.",
    "pause": "Pause stops newcomers only: those assigned keep their variant, until somebody resumes or ends "
    "the test.",
    "tell": "Only tell stops nothing: the finding is on the page of the test, and channels and webhooks are "
    "told of it.",
}
_USUAL: Final = (("1", "24"), ("5", "24"), ("25", "48"), ("100", ""))


def with_ramp(form: Mapping[str, str]) -> dict[str, str]:
    """Give a form the usual steps, in place of those that it has."""
    rows = {
        f"{STEPS}[{index}].{name}": value
        for index, step in enumerate(_USUAL)
        for name, value in zip(("percent", "hours"), step, strict=True)
    }
    return {**without_ramp(form), **rows}


def without_ramp(form: Mapping[str, str]) -> dict[str, str]:
    """Take all steps out of a form."""
    return {path: value for path, value in form.items() if not INDEX.sub("[]", path).startswith(f"{STEPS}[]")}


def put_ramp(body: dict[str, Any], *, is_new: bool) -> None:
    """Leave the ramp out of the body of a draft where it has no step; a revision takes it away by null."""
    if body.get("ramp", {}).get("steps"):
        return
    body.pop("ramp", None)
    if not is_new:
        body["ramp"] = None
