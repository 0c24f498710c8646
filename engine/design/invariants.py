"""Invariants between the fields of an experiment."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from engine.design.analysis_settings import statistics_fit
from engine.design.goals import MARGIN_KEYS
from engine.design.payloads import payloads_fit
from engine.design.unit_limits import unit_fits
from engine.errors import Problem
from engine.validation.patterns import url_pattern_problem
from engine.validation.records import (
    ListRule,
    Record,
    RecordRule,
    as_mapping,
)
from engine.validation.values import is_web_address, repeated

WEIGHT_UNIT = 1_000_000
"""Weights are rounded to millionths."""
TRIGGERS_WITH_SELECTOR = frozenset({"element_visible", "click"})
TIMES_OF_STATUS = {
    "draft": (),
    "scheduled": ("scheduled_start_at",),
    "running": ("started_at",),
    "paused": ("started_at",),
    "completed": ("started_at", "completed_at"),
    "archived": ("started_at", "completed_at"),
}
START_REQUIREMENTS = {"variants": 2, "goals": 1}

# Its event is counted like one more goal.
MOST_GOALS_WITH_EXPOSURE: Final = 49


def distinct(name: str) -> ListRule:
    """Make a rule that no two records of a list share `name`."""

    def rule(records: Sequence[Record]) -> Iterable[Problem]:
        return repeated([record.get(name) for record in records], name)

    return rule


def exactly_one(flag: str, what: str, *, from_count: int) -> ListRule:
    """Make a rule that one record of a list is marked by `flag`, or at most one below `from_count`."""

    def rule(records: Sequence[Record]) -> Iterator[Problem]:
        if any(flag not in record for record in records):
            return
        marked = sum(record[flag] for record in records)
        if marked > 1:
            yield Problem("", f"{marked} are marked as the {what}; mark one")
        elif marked == 0 and len(records) >= from_count:
            yield Problem("", f"none is marked as the {what}; set {flag} on one")

    return rule


def weights_split_traffic(variants: Sequence[Record]) -> Iterator[Problem]:
    """Check that some variant has a positive weight, and none one that rounds to zero."""
    if not variants or any("weight" not in variant for variant in variants):
        return
    units = [round(variant["weight"] * WEIGHT_UNIT) for variant in variants]
    for index, (variant, unit) in enumerate(zip(variants, units, strict=True)):
        if variant["weight"] > 0 and unit == 0:
            yield Problem(
                f"[{index}].weight", f"is below {1 / WEIGHT_UNIT:f}; scale all weights up, or make it 0"
            )
    if not any(variant["weight"] > 0 for variant in variants):
        yield Problem("", "weights are all zero; give at least one variant a positive weight")


def _selector_for_trigger(experiment: Record) -> Iterator[Problem]:
    trigger = experiment.get("trigger")
    if trigger in TRIGGERS_WITH_SELECTOR and experiment.get("trigger_selector", "") is None:
        yield Problem("trigger_selector", f"is required for the trigger {trigger}: say which element")


def pattern_fits(match_type: str, pattern: str) -> RecordRule:
    """Make a rule that a pattern fits its match type."""

    def rule(record: Record) -> Iterator[Problem]:
        if match_type in record and pattern in record:
            message = url_pattern_problem(record[match_type], record[pattern])
            if message:
                yield Problem(pattern, message)

    return rule


def _in_order(earlier: str, later: str) -> RecordRule:
    def rule(experiment: Record) -> Iterator[Problem]:
        first, second = experiment.get(earlier), experiment.get(later)
        if first is not None and second is not None and second < first:
            yield Problem(later, f"{second.isoformat()} is before {earlier}, {first.isoformat()}")

    return rule


def _end_after_start(experiment: Record) -> Iterator[Problem]:
    start, end = experiment.get("scheduled_start_at"), experiment.get("scheduled_end_at")
    if start is not None and start == end:
        yield Problem(
            "scheduled_end_at", "is the same moment as scheduled_start_at; end later, or leave it out"
        )


def _times_of_status(experiment: Record) -> Iterator[Problem]:
    status = experiment.get("status")
    for name in TIMES_OF_STATUS.get(str(status), ()):
        if experiment.get(name, name) is None:
            yield Problem(name, f"is required of an experiment that is {status}")


def start_requirements(experiment: Record) -> Iterator[Problem]:
    """Yield a problem for each part that an experiment lacks to start."""
    for name, least in START_REQUIREMENTS.items():
        items: Any = experiment.get(name)
        if items is not None and len(items) < least:
            noun = name if least > 1 else name.removesuffix("s")
            yield Problem(name, f"at least {least} {noun} needed to start, there are {len(items)}; add more")


def _requirements_of_status(experiment: Record) -> Iterable[Problem]:
    return () if experiment.get("status", "draft") == "draft" else start_requirements(experiment)


def _redirects_to_addresses(experiment: Record) -> Iterator[Problem]:
    """Check that redirects go to a web address or a path of the same site, never to a script."""
    if experiment.get("type") != "redirect":
        return
    for i, variant in enumerate(experiment.get("variants", ())):
        for j, change in enumerate(map(as_mapping, as_mapping(variant).get("changes", ()))):
            target = change.get("value", "")
            # Browsers read a backslash as a slash: two of them begin a host.
            is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
            if change["action"] == "replace" and not is_path and not is_web_address(target):
                message = "must be an absolute http or https address, or a path, for a redirect to go to"
                yield Problem(f"variants[{i}].changes[{j}].value", message)


def _margins_can_be_shown(experiment: Record) -> Iterator[Problem]:
    """Refuse a margin of 0 where guardrails are to be shown within theirs: no sample shows that."""
    if as_mapping(experiment.get("statistics", {})).get("guardrails") != "non_inferior":
        return
    for index, goal in enumerate(experiment.get("goals", ())):
        config = as_mapping(as_mapping(goal).get("config", {}))
        for key in MARGIN_KEYS:
            if config.get(key) == 0:
                why = (
                    "must be above 0 where statistics.guardrails is non_inferior: no sample shows a loss of 0"
                )
                yield Problem(f"goals[{index}].config.{key}", why)


def _bandit_learns_from_means(experiment: Record) -> Iterator[Problem]:
    """Refuse a quantile as the primary goal of a bandit, which learns epoch by epoch."""
    if experiment.get("traffic_strategy") != "bandit":
        return
    goals = [as_mapping(goal) for goal in experiment.get("goals", ())]
    is_marked = any(goal.get("is_primary") for goal in goals)
    for index, goal in enumerate(goals):
        is_primary = goal.get("is_primary") if is_marked else index == 0
        if is_primary and as_mapping(goal.get("config", {})).get("measure") == "quantile":
            yield Problem(
                f"goals[{index}].config.measure",
                "a quantile can't be averaged over changing weights: make a mean or a share the primary goal "
                "of a bandit, or traffic_strategy `fixed`",
            )


def _ramp_keeps_weights(experiment: Record) -> Iterator[Problem]:
    if experiment.get("ramp") is not None and experiment.get("traffic_strategy") == "bandit":
        yield Problem("ramp", "needs fixed weights: leave it out, or make traffic_strategy `fixed`")


def _room_for_reached(experiment: Record) -> Iterator[Problem]:
    if (
        experiment.get("exposure") is not None
        and len(experiment.get("goals") or ()) > MOST_GOALS_WITH_EXPOSURE
    ):
        yield Problem(
            "exposure", f"counts as a goal: give at most {MOST_GOALS_WITH_EXPOSURE} goals beside it"
        )


EXPERIMENT_RULES: tuple[RecordRule, ...] = (
    _selector_for_trigger,
    pattern_fits("url_match_type", "url"),
    _in_order("started_at", "completed_at"),
    _in_order("scheduled_start_at", "scheduled_end_at"),
    _end_after_start,
    _times_of_status,
    _requirements_of_status,
    _redirects_to_addresses,
    statistics_fit,
    _margins_can_be_shown,
    unit_fits,
    _bandit_learns_from_means,
    _ramp_keeps_weights,
    _room_for_reached,
    payloads_fit,
)
