"""Measured visitors: the share of each variant's visitors that a goal's numbers are of."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engine.analysis.comparison.monitoring import FEWEST_CONVERSIONS
from engine.analysis.health.check_result import SAMPLE_RATIO_ALARM, CheckInput, CheckResult
from engine.analysis.health.sample_ratio import SAMPLE_RATIO_WARNING
from engine.analysis.results.formatting import listed, share, signed
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.contingency import Tables
from engine.stats.frequentist.cochran import stratified_score_z
from engine.stats.log_p_values import log_p_normal
from engine.stats.sequential import confidence_sequence_boundary

# The name of the check, whose alarm doubts the comparison of goals and not all data.
MEASURED_VISITORS: Final = "measured_visitors"
# One alarm and one warning are shared by all comparisons (Bonferroni).
_ALARM: Final = float(np.log(SAMPLE_RATIO_ALARM))
_WARNING: Final = float(np.log(SAMPLE_RATIO_WARNING))

_IN_CLUSTERS: Final = (
    "Visitors of a {} are measured alike, which a test of visitors one by one does not allow for."
)


def measured_visitors(check_input: CheckInput) -> CheckResult:
    """Alarm where a goal's numbers are of another share of the visitors in a variant than in the control.

    Of goals with visitors whose outcome is not known, as values that are missing; of ratios those with a
    denominator above 0. Cochran's z of the share measured within periods of constant weights, through the
    confidence sequence: an alarm at an always-valid p below 0.001 over all comparisons, on the primary goal
    or a guardrail. A warning on other goals, below 0.01 at one look, and for ratios, whose denominator a
    variant may well change. Comparisons with fewer than 25 expected visitors with, or without, are left out.
    """
    if check_input.plan.in_clusters:
        return CheckResult("not_applicable", _IN_CLUSTERS.format(check_input.evidence.noun), {})
    measured, unknown = _Measured.of(check_input), _unknown(check_input)
    if not measured.is_tested.any():
        message = unknown or "Every visitor is measured, or too few are not for a test."
        return CheckResult("not_applicable", message, {})
    found = measured.differing()
    details = {
        "comparisons": int(measured.is_tested.sum()),
        "goals": [_details(check_input, one) for one in found],
    }
    if not found:
        message = "Every variant has the same share of its visitors measured."
        return CheckResult("ok", f"{message} {unknown}".strip(), details)
    is_alarm = any(one.is_alarm for one in found)
    sentences = [_sentence(check_input, one) for one in found]
    return CheckResult("alarm" if is_alarm else "warning", " ".join([*sentences, unknown]).strip(), details)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """A variant that is measured otherwise than the control on a goal; shares of visitors."""

    goal: int
    variant: int
    share: float
    control_share: float
    is_alarm: bool
    log_p_always_valid: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """Visitors measured, goals by variants, with the log p of every comparison; NaN if not tested."""

    counts: IntArray
    visitors: IntArray
    control: int
    log_p: FloatArray
    log_p_always_valid: FloatArray
    stops: BoolArray

    @classmethod
    def of(cls, check_input: CheckInput) -> "_Measured":
        evidence, plan = check_input.evidence, check_input.plan
        counts, is_ratio = _counts(check_input), _are_ratios(check_input)
        shape = counts.shape[1:]
        log_p = log_p_always_valid = np.full(shape, np.nan)
        control = 0 if plan.control is None else plan.control
        if plan.control is not None:
            visitors = _visitors_by_epoch(check_input)[:, None, :]
            tables = Tables.of(counts[..., [control]], visitors[..., [control]], counts, visitors)
            z = stratified_score_z(tables)
            is_tested = _has_enough(counts, visitors, control) & (np.arange(shape[1]) != control)
            z = np.where(is_tested, z, np.nan)
            comparisons = np.log(max(int(is_tested.sum()), 1))
            fraction = check_input.sample.fraction
            always = confidence_sequence_boundary.log_p_value(z, fraction, SAMPLE_RATIO_ALARM)
            log_p, log_p_always_valid = log_p_normal(z) + comparisons, always + comparisons
        is_primary = np.arange(shape[0]) == (-1 if plan.primary is None else plan.primary)
        stops = (is_primary | plan.is_guardrail) & ~is_ratio
        return cls(
            counts=counts.sum(axis=0),
            visitors=evidence.visitors,
            control=control,
            log_p=log_p,
            log_p_always_valid=log_p_always_valid,
            stops=np.broadcast_to(stops[:, None], shape),
        )

    @property
    def is_tested(self) -> BoolArray:
        return ~np.isnan(self.log_p)

    def differing(self) -> list[_Difference]:
        """List the comparisons with an alarm or a warning."""
        shares = self.counts / np.maximum(self.visitors, 1)
        is_alarm = (self.log_p_always_valid < _ALARM) & self.stops
        places = np.argwhere(is_alarm | (self.log_p < _WARNING)).tolist()
        return [
            _Difference(
                goal=goal,
                variant=variant,
                share=float(shares[goal, variant]),
                control_share=float(shares[goal, self.control]),
                is_alarm=bool(is_alarm[goal, variant]),
                log_p_always_valid=float(self.log_p_always_valid[goal, variant]),
            )
            for goal, variant in places
        ]


def _are_ratios(check_input: CheckInput) -> BoolArray:
    return np.array([goal.measure.is_ratio for goal in check_input.experiment.goals], bool)


def _counts(check_input: CheckInput) -> IntArray:
    """Count the visitors measured, epochs by goals by variants; one epoch where weights never changed."""
    evidence, epochs = check_input.evidence, check_input.evidence.epochs
    if epochs is not None:
        return epochs.trials
    counts = evidence.trials
    if evidence.with_denominator is not None:
        counts = np.where(_are_ratios(check_input)[:, None], evidence.with_denominator, counts)
    return counts[None]


def _visitors_by_epoch(check_input: CheckInput) -> IntArray:
    epochs = check_input.evidence.epochs
    return check_input.evidence.visitors[None] if epochs is None else epochs.visitors


def _has_enough(counts: IntArray, visitors: IntArray, control: int) -> BoolArray:
    """Tell where 25 visitors measured, and as many others, are expected in the smaller arm."""
    measured, everyone = counts.sum(axis=0), np.broadcast_to(visitors, counts.shape).sum(axis=0)
    rate = (measured + measured[:, [control]]) / np.maximum(everyone + everyone[:, [control]], 1)
    smaller = np.minimum(everyone, everyone[:, [control]])
    return np.asarray(np.minimum(rate, 1.0 - rate) * smaller >= FEWEST_CONVERSIONS)


def _unknown(check_input: CheckInput) -> str:
    """Name the ratios of which it is not known how many visitors they are of; empty without any."""
    names = [goal.name for goal in check_input.experiment.goals if goal.measure.is_ratio]
    is_known = check_input.evidence.with_denominator is not None and check_input.evidence.epochs is None
    if not names or is_known:
        return ""
    return f"How many visitors have a denominator of {listed(names)} is not known (sums, or changed weights)."


def _details(check_input: CheckInput, found: _Difference) -> dict[str, Any]:
    experiment = check_input.experiment
    return {
        "goal": experiment.goals[found.goal].name,
        "variant": experiment.variants[found.variant].name,
        "share": found.share,
        "control_share": found.control_share,
        "always_valid_p_value": float(np.exp(min(found.log_p_always_valid, 0.0))),
    }


def _sentence(check_input: CheckInput, found: _Difference) -> str:
    experiment, control = check_input.experiment, check_input.plan.control or 0
    name, against = (experiment.variants[place].name for place in (found.variant, control))
    goal, of = experiment.goals[found.goal].name, f"{share(found.share)} of the visitors of '{name}'"
    against = f"{share(found.control_share)} of those of '{against}'"
    if experiment.goals[found.goal].measure.is_ratio:
        change = found.share / found.control_share - 1.0 if found.control_share > 0 else None
        by = "" if change is None else f" ({signed(change)})"
        return f"{goal} is a ratio of {of} and of {against}{by}: its change may be one of who is in it."
    if found.is_alarm:
        return (
            f"{goal} is measured of {of} and of {against}. By chance this happens in fewer than 1 of 1,000"
            " tests, so the visitors who are measured are not comparable: the others may be just those with"
            " high values, or with low ones."
        )
    return (
        f"{goal} is measured of {of} and of {against}, which is rare by chance: find out whether values are"
        " lost, and compare its numbers with care."
    )
