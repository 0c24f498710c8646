"""Whether visitors are split as they should be, under each set of weights there has been."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import special

from engine.analysis.evidence.epochs import EpochEvidence
from engine.analysis.evidence.totals import Evidence
from engine.analysis.health.check import (
    MIN_EXPECTED,
    SAMPLE_RATIO_ALARM,
    CheckInput,
    CheckResult,
)
from engine.analysis.results.formatting import share
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.sequential.sample_ratio import check_split_over_epochs

Value = TypeVar("Value")

# Visitors may see a variant long after they were given it: up to this share of an epoch's, or so many, may
# come to one that has no weight any more.
LATE_SHARE = 0.01
LATE_HANDFUL = 10


def expected_shares(experiment: Experiment) -> list[float]:
    """The share of visitors each variant should get now; zeros while all weights are."""
    total = sum(variant.weight for variant in experiment.variants)
    return [variant.weight / total if total > 0 else 0.0 for variant in experiment.variants]


def expected_overall(experiment: Experiment, evidence: Evidence) -> list[float]:
    """The share of all visitors each variant should have: the epochs' shares by how many came in them."""
    epochs = evidence.epochs
    if epochs is None or not evidence.visitors.any():
        return expected_shares(experiment)
    came = epochs.visitors.sum(axis=1)
    overall: list[float] = (came @ epochs.shares / came.sum()).tolist()
    return overall


@dataclass(frozen=True, slots=True)
class _Split:
    """What came in each epoch, and the shares that were to come: epochs by variants.

    `visitors` are those surely split by the epoch's shares. Cells of epochs too small to test are not
    `tested`, and neither are variants without weight.
    """

    visitors: IntArray
    shares: FloatArray

    @property
    def expected(self) -> FloatArray:
        of_arms = np.where(self.shares > 0, self.visitors, 0).sum(axis=1, keepdims=True)
        return np.asarray(self.shares * of_arms)

    @property
    def tested(self) -> BoolArray:
        arms = self.shares > 0
        large = np.where(arms, self.expected, np.inf).min(axis=1, initial=np.inf) >= MIN_EXPECTED
        return np.asarray(arms & (large & (arms.sum(axis=1) > 1))[:, None])

    @property
    def chi_square(self) -> FloatArray:
        """Of each epoch; 0 where it is not tested."""
        expected = np.where(self.tested, self.expected, 1.0)
        return np.asarray(np.where(self.tested, (self.visitors - expected) ** 2 / expected, 0.0).sum(axis=1))

    @property
    def freedom(self) -> IntArray:
        """Degrees of freedom of each epoch's chi-square."""
        return np.asarray(np.maximum(self.tested.sum(axis=1) - 1, 0))


def sample_ratio(subject: CheckInput) -> CheckResult:
    """Chi-square test of the visitors per variant against the weights; alarm at p < 0.001.

    Where weights changed, visitors are held against the weights of their epoch, and the epochs' chi-squares
    and degrees of freedom add up. `always_valid_p_value` is for whoever looks every day: below 0.001 in at
    most one sound test of a thousand, whenever one looks (see `sequential_srm`).
    """
    split, epochs = _split_of(subject), subject.evidence.epochs
    if not split.tested.any():
        return CheckResult("not_applicable", "Too few visitors yet to test how they are split.", {})
    chi_square, freedom = float(split.chi_square.sum()), int(split.freedom.sum())
    p = float(special.chdtrc(freedom, chi_square))
    always_valid = check_split_over_epochs(split.visitors, split.shares)
    details = {
        "p_value": p,
        "always_valid_p_value": float(np.exp(always_valid.log_p)),
        "chi_square": chi_square,
        "visitors": _by_name(subject, subject.evidence.visitors.tolist()),
        "expected_shares": _by_name(subject, expected_overall(subject.experiment, subject.evidence)),
        **({} if epochs is None else {"epochs": _by_epoch(subject, epochs, split)}),
    }
    if p >= SAMPLE_RATIO_ALARM:
        return CheckResult("ok", "Visitors are split as planned.", details)
    message = _how_split(subject, split)
    if epochs is None or subject.experiment.trigger == "direct":
        return CheckResult("alarm", message, details)
    # Assigned on arrival, counted when the trigger comes, which may be after weights have moved.
    return CheckResult(
        "warning", f"{message} Visitors who met the trigger late may be part of that.", details
    )


def unweighted_arms(subject: CheckInput) -> CheckResult:
    """Alarm where a variant of weight zero has visitors: the split is not the one configured.

    A variant that had weight before may still be seen for the first time by some who were given it then.
    """
    split = _split_of(subject)
    stray = np.where(split.shares > 0, 0, split.visitors)
    had_weight = np.cumsum(split.shares > 0, axis=0) > 0
    late = np.maximum(LATE_HANDFUL, LATE_SHARE * split.visitors.sum(axis=1, keepdims=True))
    counts = np.where(had_weight & (stray <= late), 0, stray).sum(axis=0).tolist()
    wrong = {name: count for name, count in _by_name(subject, counts).items() if count > 0}
    if not wrong:
        return CheckResult("ok", "Only variants that get traffic have visitors.", {})
    arms = ", ".join(f"'{arm}' ({count:,})" for arm, count in wrong.items())
    message = f"Visitors were counted in variants that get no traffic: {arms}."
    return CheckResult("alarm", message, {"visitors": wrong})


def _split_of(subject: CheckInput) -> _Split:
    epochs = subject.evidence.epochs
    if epochs is not None:
        return _Split(epochs.settled, epochs.shares)
    return _Split(subject.evidence.visitors[None], np.array([expected_shares(subject.experiment)]))


def _how_split(subject: CheckInput, split: _Split) -> str:
    epoch = int(split.chi_square.argmax())
    seen, shares = np.where(split.tested, split.visitors, 0)[epoch], split.shares[epoch]
    worst = int(np.abs(seen - shares * seen.sum()).argmax())
    epochs = subject.evidence.epochs
    since = "" if epochs is None else f" since {epochs.started_at[epoch]:%Y-%m-%d %H:%M} UTC"
    return (
        f"Visitors are not split as planned: '{subject.experiment.variants[worst].name}' has"
        f" {share(seen[worst] / seen.sum())} of them{since} instead of {share(shares[worst])}. Chance does"
        " this less than once in 1,000 tests, so something sends, loses or counts visitors unevenly."
    )


def _by_epoch(subject: CheckInput, epochs: EpochEvidence, split: _Split) -> list[dict[str, object]]:
    """What each epoch was to be and was; no p where there were too few visitors to test."""
    freedom = split.freedom
    p = special.chdtrc(np.maximum(freedom, 1), split.chi_square)
    return [
        {
            "started_at": epochs.started_at[epoch].isoformat(),
            "expected_shares": _by_name(subject, split.shares[epoch].tolist()),
            "visitors": _by_name(subject, epochs.visitors[epoch].tolist()),
            "p_value": float(p[epoch]) if freedom[epoch] > 0 else None,
        }
        for epoch in range(len(epochs))
    ]


def _by_name(subject: CheckInput, values: list[Value]) -> dict[str, Value]:
    names = [variant.name for variant in subject.experiment.variants]
    return dict(zip(names, values, strict=True))
