"""The sentences of a decision, for someone who runs a product and not statistics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.analysis.result import Interval, Recommendation, Tone, VariantResult
from engine.design.experiment import Experiment, Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything the sentences about one goal speak of; `lead` is the winner or the best challenger."""

    experiment: Experiment
    goal: Goal
    control: VariantResult | None
    lead: VariantResult | None
    alarms: tuple[str, ...]
    threshold: float
    currency: str
    days: int
    is_equivalent: bool

    @property
    def is_bayesian(self) -> bool:
        """Judged on the chance to beat the control."""
        return self.experiment.analysis_method == "bayesian"

    @property
    def has_ended(self) -> bool:
        """No more visitors will come."""
        return self.experiment.status in {"completed", "archived"}


@dataclass(frozen=True, slots=True)
class Words:
    """A decision in words; the confidence assessment is written apart, for it depends on the method only."""

    label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str


def words_for(recommendation: Recommendation, case: Case) -> Words:
    """Write the sentences of this recommendation."""
    return _WORDS[recommendation](case)


def assess_confidence(case: Case) -> str:
    """How sure one can be, and how sure one has to be, in a sentence."""
    lead, control = case.lead, case.control
    if lead is None or control is None or lead.score_value is None:
        return "Nothing can be said yet about how sure this is."
    if case.is_bayesian:
        chance = f"The chance that '{lead.variant_name}' is better than '{control.variant_name}' is {share(lead.score_value)}"
        return f"{chance}; a verdict needs {share(case.threshold)} or more, or {share(1 - case.threshold)} or less."
    if lead.p_value is None:
        return "Nothing can be said yet about how sure this is."
    allowed = share(1 - case.threshold)
    chance = f"If both variants were equally good, a gap at least this large would come up in {share(lead.p_value)} of experiments"
    if lead.p_value <= 1 - case.threshold:
        return f"{chance}: below the {allowed} allowed for a verdict, so chance is a poor explanation."
    return f"{chance}: above the {allowed} allowed for a verdict, so it may well be chance."


def share(value: float) -> str:
    """A share as a percent, with as many decimals as its size deserves."""
    if 0 < value < 0.0001:
        return "less than 0.01%"
    if 0.9999 < value < 1:
        return "more than 99.99%"
    text = f"{value:.2%}" if value < 0.01 or value > 0.99 else f"{value:.1%}"
    return text.replace(".00%", "%").replace(".0%", "%")


def change(value: float) -> str:
    """A relative change, signed."""
    return f"{value:+.1%}".replace("-", "−")


def money(cents: float, currency: str) -> str:
    """An amount of money with its currency."""
    return f"{cents / 100:,.2f} {currency}".replace("-", "−")


def _ship(case: Case) -> Words:
    lead, control = _both(case)
    ending = "" if case.has_ended else "Complete the experiment and "
    roll_out = f"roll '{lead.variant_name}' out to everyone"
    caution = (
        ""
        if case.days >= 7 or case.days == 0
        else (
            f" The data covers {case.days} {'day' if case.days == 1 else 'days'}:"
            " where you can, let it run a whole week first."
        )
    )
    return Words(
        label="Ship it",
        tone="positive",
        headline=f"'{lead.variant_name}' wins on {case.goal.name}{_by(lead)}",
        explanation=_comparison(case, lead, control) + _yearly(case, lead),
        next_step=(ending + roll_out if ending else roll_out[0].upper() + roll_out[1:]) + "." + caution,
    )


def _rollback(case: Case) -> Words:
    lead, control = _both(case)
    several = len(case.experiment.variants) > 2
    who = (
        f"Every variant loses to '{control.variant_name}'"
        if several
        else f"'{lead.variant_name}' loses to '{control.variant_name}'"
    )
    ending = "Keep" if case.has_ended else "Complete the experiment and keep"
    return Words(
        label="Roll back",
        tone="negative",
        headline=f"{who} on {case.goal.name}{_by(lead)}",
        explanation=_comparison(case, lead, control) + _yearly(case, lead),
        next_step=f"{ending} '{control.variant_name}' for everyone.",
    )


def _keep_running(case: Case) -> Words:
    lead, control = _both(case)
    return Words(
        label="Keep running",
        tone="neutral",
        headline=f"No verdict yet on {case.goal.name}",
        explanation=_comparison(case, lead, control) + " The data allows for a gain as well as for a loss.",
        next_step="Keep the experiment running; more visitors will narrow the range.",
    )


def _review(case: Case) -> Words:
    lead, control = _both(case)
    if case.is_equivalent:
        visitors = sum((control.visitors, lead.visitors))
        return Words(
            label="No difference",
            tone="neutral",
            headline=f"No real difference on {case.goal.name} between '{lead.variant_name}' and '{control.variant_name}'",
            explanation=_comparison(case, lead, control)
            + f" With {visitors:,} visitors that is a clear answer: a change of 10% or more, up or down, is ruled out.",
            next_step=f"Decide on other grounds, such as cost or taste; without any, keep '{control.variant_name}'"
            " and test a bolder idea.",
        )
    return Words(
        label="Your call",
        tone="warning",
        headline=f"The experiment ended without a clear answer on {case.goal.name}",
        explanation=_comparison(case, lead, control) + " The data allows for a gain as well as for a loss.",
        next_step=f"Keep '{control.variant_name}', or run the test again with more visitors.",
    )


def _insufficient_data(case: Case) -> Words:
    reason = (
        case.lead.reason
        if case.lead is not None and case.lead.reason
        else "there are too few visitors or conversions"
    )
    next_step = {
        "draft": "Start the experiment.",
        "scheduled": "Wait for the experiment to start.",
        "running": "Keep the experiment running, and check that the goal fires.",
        "paused": "Resume the experiment to collect more.",
    }.get(case.experiment.status, "Run the test again with more visitors.")
    return Words(
        label="Not enough data",
        tone="neutral",
        headline=f"Not enough data to judge {case.goal.name}",
        explanation=f"A comparison would mislead: {reason}.",
        next_step=next_step,
    )


def _fix_data(case: Case) -> Words:
    return Words(
        label="Fix the data",
        tone="warning",
        headline="The data can't be trusted yet: don't decide on it",
        explanation=" ".join(case.alarms),
        next_step="Find and mend the cause (redirects, caching, bots, the order in which scripts load),"
        " then start the experiment again.",
    )


_WORDS: Mapping[Recommendation, Callable[[Case], Words]] = {
    "ship": _ship,
    "rollback": _rollback,
    "keep_running": _keep_running,
    "review": _review,
    "insufficient_data": _insufficient_data,
    "fix_data": _fix_data,
}


def _both(case: Case) -> tuple[VariantResult, VariantResult]:
    if case.lead is None or case.control is None:
        raise ValueError(f"a verdict on '{case.goal.name}' needs a control and a variant to compare")
    return case.lead, case.control


def _by(lead: VariantResult) -> str:
    return f" ({change(lead.improvement)})" if lead.improvement is not None else ""


def _comparison(case: Case, lead: VariantResult, control: VariantResult) -> str:
    """What each arm did, the change, and its range."""
    facts = f"{_did(case, lead)}, against {_did(case, control)}"
    if lead.improvement is None:
        return f"{facts}."
    return f"{facts}: a change of {change(lead.improvement)}{_range(lead.improvement_interval)}."


def _did(case: Case, arm: VariantResult) -> str:
    if case.goal.goal_type == "revenue":
        amount = money(arm.revenue_per_visitor_cents, case.currency)
        return f"'{arm.variant_name}' brought {amount} per visitor ({arm.visitors:,} visitors)"
    return f"{arm.conversion_rate:.2%} of {arm.visitors:,} visitors converted with '{arm.variant_name}'"


def _range(interval: Interval | None) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f", most likely between {change(interval.low)} and {change(interval.high)}"


def _yearly(case: Case, lead: VariantResult) -> str:
    impact = lead.projected_annual_revenue_impact_cents
    if not impact:
        return ""
    word = "more" if impact > 0 else "less"
    return f" At the traffic seen so far that is about {money(abs(impact), case.currency)} {word} a year."
