"""Sample ratio mismatch: visitors per variant against the weights of each epoch."""

from typing import TypeVar

import numpy as np
from scipy import special

from engine.analysis.evidence.epochs import EpochEvidence
from engine.analysis.health.check_result import SAMPLE_RATIO_ALARM, CheckInput, CheckResult
from engine.analysis.results.formatting import share
from engine.stats.sequential.sample_ratio import check_split_over_epochs

Value = TypeVar("Value")


def sample_ratio(check_input: CheckInput) -> CheckResult:
    """Test the visitors per variant against the weights by chi-square; alarm at p < 0.001.

    Where weights changed, visitors are compared with the weights of their epoch, and the epochs' chi-squares
    and degrees of freedom add up. `always_valid_p_value` holds at every look: below 0.001 in at most one
    sound test of a thousand, however often one looks (`sequential.sample_ratio`).
    """
    split, epochs = check_input.split, check_input.evidence.epochs
    if not split.test.tested.any():
        return CheckResult("not_applicable", "Too few visitors yet for a sample ratio test.", {})
    chi_square = float(split.test.statistic.sum())
    p = float(special.chdtrc(int(split.test.df.sum()), chi_square))
    visitors = _by_name(check_input, check_input.evidence.visitors.tolist())
    expected_shares = _by_name(check_input, check_input.expected_shares.tolist())
    details = {
        "p_value": p,
        "always_valid_p_value": float(np.exp(check_split_over_epochs(split.visitors, split.shares).log_p)),
        "chi_square": chi_square,
        "visitors": visitors,
        "expected_shares": expected_shares,
        **({} if epochs is None else {"epochs": _by_epoch(check_input, epochs)}),
    }
    if p >= SAMPLE_RATIO_ALARM:
        return CheckResult("ok", "Visitors are split as planned.", details)
    message = _mismatch_message(check_input)
    if epochs is None or check_input.experiment.trigger == "direct":
        return CheckResult("alarm", message, details)
    # Assigned on arrival, counted when the trigger comes, which may be after weights have changed.
    return CheckResult(
        "warning", f"{message} Visitors who met the trigger late may explain part of it.", details
    )


def _mismatch_message(check_input: CheckInput) -> str:
    """Describe the variant furthest from its share, in the epoch with the largest mismatch."""
    split, epochs = check_input.split, check_input.evidence.epochs
    epoch = int(split.test.statistic.argmax())
    visitors, shares = np.where(split.test.tested, split.visitors, 0)[epoch], split.shares[epoch]
    worst = int(np.abs(visitors - shares * visitors.sum()).argmax())
    since = "" if epochs is None else f" since {epochs.started_at[epoch]:%Y-%m-%d %H:%M} UTC"
    return (
        f"Sample ratio mismatch: '{check_input.experiment.variants[worst].name}' has"
        f" {share(visitors[worst] / visitors.sum())} of visitors{since} instead of {share(shares[worst])}. By"
        " chance this happens in fewer than 1 of 1,000 tests, so visitors are assigned, lost or counted"
        " unevenly."
    )


def _by_epoch(check_input: CheckInput, epochs: EpochEvidence) -> list[dict[str, object]]:
    """List each epoch's expected shares and visitors; no p value with too few visitors to test."""
    split = check_input.split
    df = split.test.df
    p = special.chdtrc(np.maximum(df, 1), split.test.statistic)
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
