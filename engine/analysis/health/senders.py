"""Senders: bursts of visitors, many at one address, refunds above orders, and further custom keys."""

from typing import Any, Final

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# A visit takes longer than a minute, so that an office of this size is still no burst.
FEW_VISITORS: Final = 100
TIMES_THE_AVERAGE_MINUTE: Final = 50
# An hour without a pause is the least to take an average minute from.
LEAST_MINUTES: Final = 60
# Mobile networks have thousands of customers behind an address, but of many addresses.
ADDRESS_SHARE: Final = 0.005
OVERDRAWN_SHARE: Final = 0.05
# The times of a file may be days only, so that its visitors come at midnight.
_WITHOUT_TIMES: Final = frozenset({"import", "unknown"})
_NOT_KNOWN: Final = CheckResult("not_applicable", "The senders of these data are not known.", {})


def bursts(check_input: CheckInput) -> CheckResult:
    """Warn where one minute has 100 new visitors or more, and 50 times those of the average minute."""
    senders = check_input.evidence.senders
    if senders is None:
        return _NOT_KNOWN
    found = {
        peak.sender: {"visitors": peak.visitors, "average": peak.average}
        for peak in senders.peaks
        if peak.sender not in _WITHOUT_TIMES
        and peak.minutes >= LEAST_MINUTES
        and peak.visitors >= max(FEW_VISITORS, TIMES_THE_AVERAGE_MINUTE * peak.average)
    }
    if not found:
        return CheckResult("ok", "Visitors come without bursts.", {"senders": {}})
    described = "; ".join(
        f"{peak['visitors']:,.0f} new visitors of sender '{sender}' within one minute, where "
        f"{peak['average']:,.1f} are the average"
        for sender, peak in found.items()
    )
    message = f"{described}: if no campaign explains them, a program may have sent them."
    return CheckResult("warning", message, {"senders": found})


def visitors_by_address(check_input: CheckInput) -> CheckResult:
    """Warn where 100 visitors or more, and over 0.5% of a sender's, come from one network address."""
    senders = check_input.evidence.senders
    if senders is None or senders.busiest_address is None:
        return CheckResult("not_applicable", "The network addresses of these visitors are not known.", {})
    busiest = senders.busiest_address
    part = busiest.visitors / max(senders.visitors.get(busiest.sender, 0), busiest.visitors)
    details = {"sender": busiest.sender, "visitors": busiest.visitors, "share": part}
    if busiest.visitors < FEW_VISITORS or part <= ADDRESS_SHARE:
        return CheckResult("ok", "No network address has an unusual number of visitors.", details)
    return CheckResult(
        "warning",
        f"{busiest.visitors:,} visitors ({share(part)} of sender '{busiest.sender}') come from one network "
        "address: forged visitors, test traffic, or a proxy that TRUELIFT_TRUSTED_PROXIES does not list.",
        details,
    )


def refunds_above_orders(check_input: CheckInput) -> CheckResult:
    """Warn where visitors with more refunds than orders take over 5% from a variant's revenue."""
    senders, evidence = check_input.evidence.senders, check_input.evidence
    if senders is None:
        return _NOT_KNOWN
    experiment = check_input.experiment
    lost: dict[tuple[int, int], int] = {}
    kinds: dict[tuple[int, int], set[str]] = {}
    for one in senders.overdrawn:
        place = one.goal, one.variant
        lost[place] = lost.get(place, 0) - one.cents
        kinds.setdefault(place, set()).add(one.sender)
    found: list[dict[str, Any]] = []
    for (goal, variant), cents in lost.items():
        orders = float(evidence.totals.revenue.total[goal, variant]) + cents
        if cents > OVERDRAWN_SHARE * orders:
            found.append(
                {
                    "goal": experiment.goals[goal].name,
                    "variant": experiment.variants[variant].name,
                    "senders": sorted(kinds[goal, variant]),
                    # Without other orders there is nothing to take a share of.
                    "share": cents / orders if orders > 0 else None,
                }
            )
    if not found:
        return CheckResult("ok", "Refunds do not exceed the orders of their visitors.", {"refunds": []})
    described = "; ".join(
        f"{share(one['share']) if one['share'] else 'more than all'} of the revenue of '{one['variant']}' "
        f"({one['goal']}, sent by {', '.join(one['senders'])})"
        for one in found
    )
    return CheckResult(
        "warning",
        f"Visitors with more refunds than orders take {described}: check that these refunds are yours.",
        {"refunds": found},
    )


def custom_dimension_keys(check_input: CheckInput) -> CheckResult:
    """Warn where attributes were dropped because the project has its 200 custom dimension keys."""
    senders = check_input.evidence.senders
    if senders is None:
        return CheckResult("not_applicable", "The attributes of these data are not known.", {})
    details = {"dropped_attributes": senders.dropped_attributes, "key": senders.dropped_key}
    if not senders.dropped_attributes:
        return CheckResult("ok", "Every custom dimension is kept.", details)
    return CheckResult(
        "warning",
        f"{senders.dropped_attributes:,} attributes with further keys, such as '{senders.dropped_key}', "
        "were dropped: a project keeps its first 200 custom dimensions. Send what varies as a value.",
        details,
    )
