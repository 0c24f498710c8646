"""What two arms did beside each other, in a sentence."""

from engine.analysis.facts import Facts
from engine.analysis.figures import money, share, signed
from engine.analysis.result import VariantResult


def by_how_much(lead: VariantResult) -> str:
    """The relative change in brackets; nothing where there is none."""
    return f" ({signed(lead.improvement)})" if lead.improvement is not None else ""


def comparison(facts: Facts, lead: VariantResult, control: VariantResult) -> str:
    """What each arm did, the change, and its range; with what was done to the values before."""
    if facts.goal.goal_type == "revenue":
        did = f"'{lead.variant_name}' brought {_brought(lead, facts)}"
        against = f"'{control.variant_name}' {_brought(control, facts).partition(' per ')[0]}"
    else:
        rate = f"{share(lead.conversion_rate)} of {lead.visitors:,} visitors"
        did = f"{rate} converted with '{lead.variant_name}'"
        against = f"{share(control.conversion_rate)} of {control.visitors:,} with '{control.variant_name}'"
    if lead.improvement is None:
        return f"{did}, and {against}."
    return f"{did}, and {against}: a change of {signed(lead.improvement)}{_range(lead)}{_how(facts, lead)}."


def _brought(variant: VariantResult, facts: Facts) -> str:
    if variant.revenue_per_order_cents is not None:
        return f"{money(variant.revenue_per_order_cents, facts.currency)} per order"
    return f"{money(variant.revenue_per_visitor_cents, facts.currency)} per visitor"


def _range(lead: VariantResult) -> str:
    interval = lead.improvement_interval
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f", most likely between {signed(interval.low)} and {signed(interval.high)}"


def _how(facts: Facts, lead: VariantResult) -> str:
    """Why the change need not be that of the figures before it."""
    ways = []
    if lead.unadjusted is not None:
        ways.append("what visitors did before is taken into account")
    if lead.capped is not None:
        ways.append(f"amounts above {money(lead.capped.cap_cents, facts.currency)} count as that")
    return f" ({', and '.join(ways)})" if ways else ""
