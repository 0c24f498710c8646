"""Sample ratio mismatch: visitors per variant against the weights of each epoch."""

from typing import TypeVar

import numpy as np
import scipy

from engine.analysis.evidence.epochs import EpochEvidence
from engine.analysis.health.check_result import SAMPLE_RATIO_ALARM, CheckInput, CheckResult
from engine.analysis.results.formatting import share
from engine.stats.sequential.sample_ratio import check_split_over_epochs

Value = TypeVar("Value")
# A split this unlikely at one look is not "as planned", and no proof of a fault either.
SAMPLE_RATIO_WARNING = 0.01


def sample_ratio(check_input: CheckInput) -> CheckResult:
    """Test the visitors per variant against the weights: alarm at an always-valid p below 0.001.

    Of clusters where those are assigned.
    `always_valid_p_value` is below 0.001 in at most one sound test of a thousand, however often one looks
    (`sequential.sample_ratio`). `p_value` is that of one chi-square test, which 28 daily looks bring below
    0.001 in one sound test of a hundred: below 0.01 it is a warning. Where weights changed, visitors are
    compared with the weights of their epoch; chi-squares and degrees of freedom add up over epochs.
    """
    split, epochs = check_input.split, check_input.evidence.epochs
    if not split.test.tested.any():
        return CheckResult(
            "not_applicable", f"Too few {_units(check_input)} yet for a sample ratio test.", {}
        )
    chi_square = float(split.test.statistic.sum())
    p = float(scipy.special.chdtrc(int(split.test.df.sum()), chi_square))
    always_valid_p = float(np.exp(check_split_over_epochs(split.visitors, split.shares).log_p))
    counts = _by_name(check_input, check_input.evidence.assigned.tolist())
    expected_shares = _by_name(check_input, check_input.expected_shares.tolist())
    details = {
        "p_value": p,
        "always_valid_p_value": always_valid_p,
        "chi_square": chi_square,
        _units(check_input): counts,
        "expected_shares": expected_shares,
        **({} if epochs is None else {"epochs": _by_epoch(check_input, epochs)}),
    }
    if always_valid_p >= SAMPLE_RATIO_ALARM:
        if p >= SAMPLE_RATIO_WARNING:
            return CheckResult("ok", f"{_units(check_input).capitalize()} are split as planned.", details)
        return CheckResult("warning", _doubtful_message(check_input, p), details)
    message = _mismatch_message(check_input)
    if epochs is None or check_input.experiment.trigger == "direct":
        return CheckResult("alarm", message, details)
    # Assigned on arrival, counted when the trigger comes, which may be after weights have changed.
    return CheckResult(
        "warning", f"{message} Visitors who met the trigger late may explain part of it.", details
    )


def _doubtful_message(check_input: CheckInput, p: float) -> str:
    """Say that the split is unlikely, and not yet a mismatch."""
    return (
        f"{_furthest_variant(check_input)} (p = {p:.2g}). Fewer than 1 look in 100 at a sound test shows"
        " that: watch the split, and check how visitors are assigned and counted if it stays."
    )


def _mismatch_message(check_input: CheckInput) -> str:
    """Describe the mismatch, and its chance."""
    return (
        f"Sample ratio mismatch: {_furthest_variant(check_input)}. By chance this happens in fewer than 1 of"
        f" 1,000 tests, so {_units(check_input)} are assigned, lost or counted unevenly."
    )


def _units(check_input: CheckInput) -> str:
    """Name what is assigned."""
    return f"{check_input.evidence.noun}s"


def _furthest_variant(check_input: CheckInput) -> str:
    """Describe the variant furthest from its share, in the epoch with the largest mismatch."""
    split, epochs = check_input.split, check_input.evidence.epochs
    epoch = int(split.test.statistic.argmax())
    visitors, shares = np.where(split.test.tested, split.visitors, 0)[epoch], split.shares[epoch]
    worst = int(np.abs(visitors - shares * visitors.sum()).argmax())
    since = "" if epochs is None else f" since {epochs.started_at[epoch]:%Y-%m-%d %H:%M} UTC"
    return (
        f"'{check_input.experiment.variants[worst].name}' has"
        f" {share(visitors[worst] / visitors.sum())} of {_units(check_input)}{since} instead of"
        f" {share(shares[worst])}"
    )


def _by_epoch(check_input: CheckInput, epochs: EpochEvidence) -> list[dict[str, object]]:
    """List each epoch's expected shares and visitors; no p value with too few visitors to test."""
    split = check_input.split
    df = split.test.df
    p = scipy.special.chdtrc(np.maximum(df, 1), split.test.statistic)
    return [
        {
            "started_at": epochs.started_at[epoch].isoformat(),
            "expected_shares": _by_name(check_input, split.shares[epoch].tolist()),
            "visitors": _by_name(check_input, epochs.visitors[epoch].tolist()),
            "p_value": float(p[epoch]) if df[epoch] > 0 else None,
        }
        for epoch in range(len(epochs))
    ]


def _by_name(check_input: CheckInput, values: list[Value]) -> dict[str, Value]:
    names = [variant.name for variant in check_input.experiment.variants]
    return dict(zip(names, values, strict=True))
