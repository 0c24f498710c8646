"""Late visits: pages that were seen before the browser script came, whose new visitors are not counted."""

from typing import Final

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# So many new visitors left out may have other habits than the rest, such as slow connections.
LATE_WARNING: Final = 0.05


def late_visits(check_input: CheckInput) -> CheckResult:
    """Warn where 5% or more of all visits were late: of those counted in browsers, and those left out.

    A late visit is left out whatever its variant would have been, so that variants stay comparable: the
    script decides before it shows anything, by the same code in every arm. Results are of other visitors
    than the site has, though, and take longer.
    """
    senders = check_input.evidence.senders
    if senders is None:
        return CheckResult("not_applicable", "Late visits are not known of these data.", {})
    counted = sum(number for sender, number in senders.visitors.items() if "browser" in sender)
    late = senders.late_visits
    part = late / (late + counted) if late else 0.0
    last = senders.last_late_day
    details = {"visits": late, "share": part, "last_day": last.isoformat() if last else None}
    if not late:
        return CheckResult("ok", "No page was seen before the snippet came.", details)
    message = (
        f"{late:,} visits ({share(part)}) saw the page before the snippet came. They saw the original, and "
        "are counted in no variant."
    )
    if part < LATE_WARNING:
        return CheckResult("ok", message, details)
    advice = (
        "Put the snippet at the start of the head, not into the body or a tag manager, or raise "
        "anti_flicker_timeout_ms."
    )
    return CheckResult("warning", f"{message} The last was on {last}. {advice}", details)
