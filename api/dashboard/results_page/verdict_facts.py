"""Facts beside the verdict: money, whether it is safe to stop, the plan, and the part of chance."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engine.analysis.results.formatting import exact_money, p_text, share
from engine.analysis.results.planned_sample import PlanReport
from engine.analysis.results.report import DecisionSummary, Recommendation, Report
from engine.analysis.results.variant_result import VariantResult
from engine.currencies import minor_units

_MILLION: Final = 1_000_000
_THOUSAND: Final = 10_000
# By recommendation: whether the test may end now, and why; by the plan where nothing is said.
_MAY_STOP: Final[dict[Recommendation, tuple[str, str]]] = {
    "ship": ("Yes", "holds at every look"),
    "rollback": ("Yes", "holds at every look"),
    "fix_data": ("No", "the data come first"),
    "keep_running": ("No", "wait for the plan"),
    "insufficient_data": ("No", "nothing can be compared yet"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact: what it is of, its value, a note, and the percent that a gauge shows."""

    label: str
    value: str
    note: str = ""
    progress: float | None = None


def facts_of(
    report: Report, leader: VariantResult | None, *, reached_on: str | None, part: str = ""
) -> tuple[Fact, ...]:
    """List the facts beside the verdict on the primary goal, about the variant that it names.

    Those of a `part` of the visitors, or against another variant, have neither money a year nor a plan.
    """
    if report.primary is None:
        return ()
    decision, plan = report.primary.decision, report.plan
    if part:
        counted = Fact(label=plan.unit.capitalize(), value=f"{plan.counted:,}", note=part)
        return counted, *_chance(report, leader)
    safe = _safe_to_stop(report, decision, reached_on)
    return *_money(decision), safe, _plan(plan), *_chance(report, leader)


def round_money(cents: float, currency: str) -> str:
    """Format an amount in words: 1.24 million USD, 41,200 USD, 812.50 USD."""
    units = cents / minor_units(currency)
    if abs(units) >= _MILLION:
        return f"{units / _MILLION:,.2f} million {currency}".replace("-", "\N{MINUS SIGN}")
    if abs(units) >= _THOUSAND:
        return exact_money(round(units, -2) * minor_units(currency), currency, digits=0)
    return exact_money(cents, currency)


def _money(decision: DecisionSummary) -> Iterator[Fact]:
    impact, currency = decision.yearly_impact, decision.revenue_currency
    if impact is None:
        return
    bounds = f"{round_money(impact.low, currency)} to {round_money(impact.high, currency)}"
    yield Fact(
        label="Worth about",
        value=f"{round_money(impact.estimate, currency)} a year",
        note=f"{bounds}, shrunk" if impact.is_shrunk else bounds,
    )


def _safe_to_stop(report: Report, decision: DecisionSummary, reached_on: str | None) -> Fact:
    is_over = report.experiment.status in {"completed", "archived"}
    value, note = _MAY_STOP.get(
        decision.recommendation, ("Yes", "") if report.plan.is_reached else ("No", "wait for the plan")
    )
    if is_over:
        value, note = "Ended", ""
    elif value == "Yes" and reached_on:
        note = f"since the planned look on {reached_on}"
    return Fact(label="Safe to stop", value=value, note=note)


def _plan(plan: PlanReport) -> Fact:
    value = f"{plan.counted:,}"
    if plan.required_visitors is None or plan.progress is None:
        return Fact(label=plan.unit.capitalize(), value=value, note="too little is known for a plan yet")
    days = f", about {plan.days_left} {'day' if plan.days_left == 1 else 'days'} to go"
    note = f"{int(100 * plan.progress)}% of the {plan.required_visitors:,} planned"
    return Fact(
        label=plan.unit.capitalize(),
        value=value,
        note=note + (days if plan.days_left else ""),
        progress=100 * plan.progress,
    )


def _chance(report: Report, leader: VariantResult | None) -> Iterator[Fact]:
    """Tell the p value, or the chance to be better, with what is needed."""
    if leader is None:
        return
    if report.experiment.analysis_method == "bayesian" and leader.chance_to_beat is not None:
        needed = f"{share(report.effective_confidence_threshold)} is needed"
        yield Fact(label=report.score_label, value=share(leader.chance_to_beat), note=needed)
    elif leader.p_value is not None:
        alpha = 1.0 - report.effective_confidence_threshold
        needed = f"at one look; {alpha:.2g} is needed"
        yield Fact(label="By chance alone", value=f"p {p_text(leader.p_value, alpha)}", note=needed)
