"""Built files of the snippet: its core, the parts that not every project needs, the stub, and tools."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "browser" / "dist"
CORE: Final = "truelift.js"
# Loaded where the address of a page asks for them.
PREVIEW: Final = "preview.js"
DEBUG: Final = "debug.js"
STUB: Final = "stub.js"
# Made by rules of a style sheet, before the elements exist.
STYLE_ACTIONS: Final = frozenset({"remove", "modify_style"})


@cache
def read_script(name: str) -> bytes:
    """Read a built file."""
    return (FOLDER / name).read_bytes()


@cache
def _read_part(name: str) -> bytes:
    return _path_of(name).read_bytes()


def _path_of(part: str) -> Path:
    return FOLDER / "parts" / f"{part}.js"


def parts_needed(config: Mapping[str, Any]) -> list[str]:
    """List the parts that a configuration needs, in the order in which they are sent."""
    experiments = [*config["experiments"], *config["rollouts"]]
    by_browser = [experiment for experiment in experiments if not experiment["decided_by_server"]]
    is_needed = {
        "rollouts": bool(config["rollouts"]),
        "consent": bool(config["settings"]["consent_source"]),
        "changes": any(map(_changes_elements, experiments)),
        "redirects": any(experiment["type"] == "redirect" for experiment in experiments),
        "integrations": any((*config["integrations"].values(), config["ga4_events"])),
        "server_decisions": len(by_browser) < len(experiments)
        or any("unsettled" in experiment for experiment in by_browser),
        # After the one before, whose answer it asks for.
        "exclusion": any("group" in experiment for experiment in experiments),
        "targeting": bool(config["automata"]) or any(experiment["targeting"] for experiment in by_browser),
        "units": any(experiment.get("unit") for experiment in experiments),
        "triggers": any(experiment["trigger"] != "direct" for experiment in experiments),
        # After those that it asks before itself.
        "holdout": bool(config.get("holdout") and experiments),
    }
    return [name for name, is_it in is_needed.items() if is_it]


def _changes_elements(experiment: Mapping[str, Any]) -> bool:
    """Tell whether an experiment changes elements by more than style rules, or waits for some."""
    if experiment["type"] == "redirect":
        return False
    actions = {change["action"] for variant in experiment["variants"] for change in variant["changes"]}
    return experiment["trigger"] == "element_visible" or not actions <= STYLE_ACTIONS


def snippet_script(config: Mapping[str, Any], encoded: bytes) -> bytes:
    """Build the script of a project: the core, called with the encoded configuration and the parts."""
    parts = [_read_part(name) for name in parts_needed(config)]
    return b"%b%b);" % (read_script(CORE), b",".join([encoded, *parts]))
