"""One visitor: comparisons of means that a single visitor makes, or hides."""

from typing import Any, Final

import numpy as np
import scipy

from engine.analysis.comparison.influence import LEAST_CHANGE, Extreme, LeftOut, describe, rows_of_means
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import figure, listed, p_text, share, signed
from engine.design.experiment import Experiment

_USUAL_LEVEL: Final = 0.05


def one_visitor(check_input: CheckInput) -> CheckResult:
    """Warn where one visitor, or two, make a finding or hide a difference.

    A finding is theirs if it is lost without them, with a standard error or more: then `ship` and `rollback`
    become `review`. They hide a difference if it is significant without them at this look, and a standard
    error larger. Of the five visitors with the largest values, and with the largest denominators, of each
    goal that is a mean and variant.
    """
    influence, names = check_input.influence, _means(check_input)
    if not names:
        return CheckResult(
            "not_applicable", "No goal is a mean or a ratio, which one visitor could make.", {}
        )
    if influence is None or check_input.turns is None:
        return CheckResult("not_applicable", _unknown(check_input, names), {})
    made = [(goal, variant) for goal, variant in np.argwhere(check_input.turns).tolist()]
    hidden = _hidden(check_input)
    details = {
        "made": [
            _details(check_input, *place, influence.weakest_of(place[0], check_input.plan)) for place in made
        ],
        "hidden": [_details(check_input, *place, influence.strongest) for place in hidden],
    }
    if not made and not hidden:
        return CheckResult("ok", "No single visitor makes or hides a difference.", details)
    experiment, evidence = check_input.experiment, check_input.evidence
    sentences = [
        describe_finding(experiment, evidence, influence.weakest_of(place[0], check_input.plan), *place)
        for place in made
    ]
    sentences += [describe_hidden(experiment, evidence, influence.strongest, *place) for place in hidden]
    return CheckResult("warning", " ".join(sentences), details)


def describe_finding(
    experiment: Experiment, evidence: Evidence, extreme: Extreme, goal: int, variant: int
) -> str:
    """Say in a sentence which visitor a finding rests on, and what is left without that one."""
    left = describe(evidence, extreme, goal, variant)
    name, of = experiment.goals[goal].name, experiment.variants[variant].name
    return f"On {name} the result of '{of}' rests on {_visitors(experiment, left, goal)}: {_without(left)}."


def describe_hidden(
    experiment: Experiment, evidence: Evidence, extreme: Extreme, goal: int, variant: int
) -> str:
    """Say in a sentence which visitor hides a difference, and what it is without that one."""
    left = describe(evidence, extreme, goal, variant)
    name, of = experiment.goals[goal].name, experiment.variants[variant].name
    return (
        f"On {name} {_visitors(experiment, left, goal)} may hide a difference of '{of}': {_without(left)}."
        " Consider a cap before the next test."
    )


def _means(check_input: CheckInput) -> list[str]:
    """Name the goals that are means, or ratios."""
    rows = rows_of_means(check_input.plan, check_input.evidence).tolist()
    return [check_input.experiment.goals[row].name for row in rows]


def _unknown(check_input: CheckInput, names: list[str]) -> str:
    """Say why single visitors are not left out."""
    if check_input.evidence.epochs is not None:
        why = "weights changed, and the period of each visitor is not known"
    elif check_input.plan.in_clusters:
        why = f"{check_input.evidence.noun}s are compared, none of which may have half of the visitors"
    elif check_input.evidence.largest is None:
        why = "single visitors are not known of sums and of segments"
    else:
        why = "there is nothing to compare"
    return f"Whether one visitor decides {listed(names)} is not checked: {why}."


def _hidden(check_input: CheckInput) -> list[tuple[int, int]]:
    """List the comparisons that are significant at this look without one visitor, and not with all."""
    influence = check_input.influence
    if influence is None:
        return []
    limit = float(-scipy.special.ndtri(check_input.plan.two_sided_alpha / 2.0))
    without, size = np.abs(influence.strongest.z), np.abs(influence.z)
    is_hidden = (size < limit) & (without >= limit) & (without - size >= LEAST_CHANGE)
    return [(goal, variant) for goal, variant in np.argwhere(is_hidden).tolist()]


def _details(check_input: CheckInput, goal: int, variant: int, extreme: Extreme) -> dict[str, Any]:
    experiment = check_input.experiment
    left = describe(check_input.evidence, extreme, goal, variant)
    return {
        "goal": experiment.goals[goal].name,
        "variant": experiment.variants[variant].name,
        "visitors_of": experiment.variants[left.arm].name,
        "visitors": left.count,
        "value": left.value,
        "total_value": left.of_value,
        "denominator": left.denominator,
        "total_denominator": left.of_denominator,
        "improvement_without": left.improvement,
        "z_without": left.z,
    }


def _visitors(experiment: Experiment, left: LeftOut, goal: int) -> str:
    """Describe the visitors who are left out, and what they have of their variant's totals."""
    many = "one visitor" if left.count == 1 else "two visitors"
    measure, unit = experiment.goals[goal].measure, experiment.goals[goal].unit
    if unit == "cents":
        had = (
            f"{share(left.value / left.of_value)} of its revenue"
            if left.of_value > 0
            else "its largest amounts"
        )
    else:
        had = f"{figure(left.value)} of its {figure(left.of_value)}"
    if left.denominator is not None and left.of_denominator is not None:
        of_all = f"{figure(left.denominator)} of {figure(left.of_denominator)}"
        had += (
            f" and {of_all} orders"
            if measure.is_per_order
            else f" in the numerator and {of_all} in the denominator"
        )
    return f"{many} of '{experiment.variants[left.arm].name}' with {had}"


def _without(left: LeftOut) -> str:
    """Say what is left without the visitors."""
    p = float(np.exp(np.log(2.0) + scipy.special.log_ndtr(-abs(left.z))))
    change = "there is no change" if left.improvement is None else f"the change is {signed(left.improvement)}"
    return f"without {'that one' if left.count == 1 else 'them'} {change} (p {p_text(p, _USUAL_LEVEL)})"
