"""Sentences on variants: their names, the comparison of two of them, and the harm that they do."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.results.formatting import amount, difference, figure, listed, money, share, signed
from engine.analysis.results.variant_result import Capped, MetricName, VariantResult

_PER: Final[Mapping[MetricName, str]] = {
    "revenue_per_visitor": " per visitor",
    "revenue_per_order": " per order",
}


def leader_and_control(context: DecisionContext) -> tuple[VariantResult, VariantResult]:
    """Return the leader and the control of a goal that has both."""
    if context.leader is None or context.control is None:
        raise ValueError(f"a verdict on '{context.goal.name}' needs a control and a variant to compare")
    return context.leader, context.control


def quoted(variant: VariantResult) -> str:
    """Quote a variant's name."""
    return f"'{variant.variant_name}'"


def by_how_much(variant: VariantResult) -> str:
    """Format the relative change in brackets; nothing where there is none."""
    return f" ({signed(variant.improvement)})" if variant.improvement is not None else ""


def named(variants: Sequence[VariantResult]) -> str:
    """List variants with their changes."""
    return listed([quoted(variant) + by_how_much(variant) for variant in variants])


def comparison(context: DecisionContext, variant: VariantResult, control: VariantResult) -> str:
    """Describe the metric of both variants, the change, its interval and the adjustments."""
    result, against = _both(context, variant, control)
    if variant.improvement is None:
        return f"{result}, and {against}{_difference(variant)}.{_uncapped(variant, control)}"
    change = f"{signed(variant.improvement)}{_precision(context, variant)}"
    return f"{result}, and {against}: a change of {change}.{_uncapped(variant, control)}"


def _both(context: DecisionContext, variant: VariantResult, control: VariantResult) -> tuple[str, str]:
    """Describe the metric of the variant, and of the control."""
    measure = context.goal.measure
    if context.goal.unit == "cents":
        result = f"{quoted(variant)} brought {_amount(variant)}{_PER[variant.metric.name]}"
        return result, f"{quoted(control)} {_amount(control)}"
    if context.goal.unit == "number":
        predicate = measure.predicate.format(**context.goal.tracking)
        result = f"{quoted(variant)} {predicate} {_amount(variant)}{measure.per}"
        return result, f"{quoted(control)} {_amount(control)}"
    result = f"{_share_of(variant)} {measure.population} {measure.predicate} with {quoted(variant)}"
    return result, f"{_share_of(control)} with {quoted(control)}"


def _difference(variant: VariantResult) -> str:
    """Name the difference of means that have no relative change."""
    found, metric = variant.compared.absolute_difference, variant.metric
    return "" if found is None else f": a difference of {difference(found, metric.unit, metric.currency)}"


def _share_of(variant: VariantResult) -> str:
    return f"{_amount(variant)} of {variant.metric.n:,}"


def _amount(variant: VariantResult) -> str:
    """Format what is compared in its unit; one that is not known is 0."""
    metric = variant.metric
    return amount(metric.value or 0.0, metric.unit, metric.currency)


def _uncapped(variant: VariantResult, control: VariantResult) -> str:
    """Name the amounts without the cap, where they differ."""
    if variant.details.capped is None or variant.metric.unit != "cents":
        return ""
    both, currency = (variant, control), variant.metric.currency
    plain = [money(one.details.capped.uncapped or 0.0, currency) for one in both if one.details.capped]
    if plain == [_amount(one) for one in both]:
        return ""
    return f" Without the cap: {plain[0]} and {plain[1]}."


def _precision(context: DecisionContext, variant: VariantResult) -> str:
    """Describe the interval of the change and the adjustments of its metric, in brackets."""
    facts, interval = [], variant.improvement_interval
    if interval is not None and interval.low is not None and interval.high is not None:
        kind = "credible" if context.experiment.analysis_method == "bayesian" else "confidence"
        bounds = f"{signed(interval.low)} to {signed(interval.high)}"
        facts.append(f"{share(interval.level)} {kind} interval {bounds}")
    details = variant.details
    if details.unadjusted is not None:
        facts.append(_adjustment(context))
    if variant.clusters is not None:
        facts.append(_clusters(context, variant))
    if details.capped is not None:
        facts.append(f"{_cap(context, details.capped)}")
    return f" ({'; '.join(facts)})" if facts else ""


def _adjustment(context: DecisionContext) -> str:
    values = context.data.evidence.values
    is_index = values is not None and bool(values.index_slopes[context.row])
    return "adjusted for covariates" if is_index else "adjusted for pre-period activity"


def _clusters(context: DecisionContext, variant: VariantResult) -> str:
    """Say by what, and by how many, both variants are compared."""
    clusters, control = context.data.evidence.clusters, context.control
    if clusters is None or control is None:
        raise ValueError("a comparison by cluster needs clusters, and a control")
    return f"compared by {clusters.by}: {variant.clusters:,} {clusters.noun}s against {control.clusters:,}"


def _cap(context: DecisionContext, capped: Capped) -> str:
    if context.goal.unit == "cents":
        return f"amounts capped at {money(capped.cap, context.currency)}"
    return f"values capped at {figure(capped.cap)}"


def losers(context: DecisionContext, *, besides: VariantResult | None = None) -> str:
    """Name the variants that lose on the primary goal, apart from one."""
    situation = context.decision.situation
    flags = situation.failures & situation.loses
    found = [variant for variant in context.where(flags) if variant is not besides]
    if not found:
        return ""
    return f" {named(found)} {'loses' if len(found) == 1 else 'lose'} on {context.goal.name}."


def unsettled(context: DecisionContext, *, besides: VariantResult | None = None) -> str:
    """Say of each variant without a result why it has none."""
    situation = context.decision.situation
    flags = situation.is_compared & ~situation.winners & ~situation.breaking
    flags &= ~situation.failures & ~situation.without_difference
    found = [variant for variant in context.where(flags) if variant is not besides]
    missing = [variant for variant in found if variant.status == "insufficient_data"]
    unclear = [variant for variant in found if variant not in missing]
    parts = [f" No clear result yet on {named(unclear)}."] if unclear else []
    parts += [f" No result yet on {quoted(one)}: {one.reason or 'too little data'}." for one in missing]
    return "".join(parts)


def won_and_lost(context: DecisionContext, leader: VariantResult) -> str:
    """Say of a variant that looks contradict each other; nothing of others."""
    found, column = context.decision.findings, context.variants.index(leader)
    if not (found.wins[context.row, column] and found.loses[context.row, column]):
        return ""
    return f" {quoted(leader)} won at one look and lost at another, so neither is relied on."


def broken_guardrails(
    context: DecisionContext, variants: Sequence[VariantResult], *, only: int | None = None
) -> str:
    """Name every guardrail that these variants break, or `only` that one, with its margin and the change."""
    broken = context.decision.findings.broken
    sentences = []
    for row, goal in enumerate(context.experiment.goals):
        for variant in variants:
            column = context.variants.index(variant)
            if broken[row, column] and only in {None, row}:
                found = context.results[row][column]
                change = _change_or_earlier(context, row, found)
                allowed = allowed_harm(context, row)
                text = f" {quoted(found)} breaks the guardrail {goal.name}: {change}, where {allowed}."
                sentences.append(text)
    return "".join(sentences)


def is_small(context: DecisionContext, variant: VariantResult) -> bool:
    """Tell whether a variant's change is proven, and proven to be smaller than what matters on this goal."""
    findings = context.decision.findings
    return variant in context.found(findings.equivalent & (findings.wins | findings.loses))


def small_change(context: DecisionContext, variant: VariantResult) -> str:
    """Say of a proven change that it is proven to be small, too; nothing of others."""
    if not is_small(context, variant):
        return ""
    margin = float(context.sample.equivalence_margins[context.row])
    return f" The change is proven, and proven to be smaller than the {share(margin)} that matter."


def harmed_goals(context: DecisionContext, variant: VariantResult) -> list[tuple[str, str]]:
    """List the goals apart from the primary one that a variant harms: name, and the change in words."""
    column, loses = context.variants.index(variant), context.decision.findings.loses
    rows = [row for row, goal in enumerate(context.experiment.goals) if not goal.is_primary]
    return [
        (
            context.experiment.goals[row].name,
            _change_or_earlier(context, row, context.results[row][column]),
        )
        for row in rows
        if loses[row, column] and not context.data.plan.is_guardrail[row]
    ]


def allowed_harm(context: DecisionContext, row: int) -> str:
    """Describe the margin of a guardrail."""
    plan = context.data.plan
    word = "fall" if plan.wanted[row, 0] > 0 else "rise"
    relative, absolute = float(plan.margins[row]), float(plan.absolute_margins[row])
    if 0.0 in {relative, absolute}:
        return f"no {word} is allowed"
    most = share(relative) if math.isnan(absolute) else in_unit(context, row, absolute)
    return f"a {word} of at most {most} is allowed"


def in_unit(context: DecisionContext, row: int, value: float) -> str:
    """Format a difference of a goal's means in its unit: points of shares, money, or a number."""
    goal = context.experiment.goals[row]
    if goal.unit == "cents":
        return money(value, goal.currency(context.currency))
    return f"{figure(100 * value)} percentage points" if goal.unit == "share" else figure(value)


def _change(context: DecisionContext, row: int, variant: VariantResult) -> str:
    """Describe a change in percent; by both means where that is no measure, or not that of the margin."""
    if variant.improvement is not None and math.isnan(context.data.plan.absolute_margins[row]):
        return f"a change of {signed(variant.improvement)}"
    control = next(one for one in context.results[row] if one.is_control)
    per = " of visitors" if variant.metric.unit == "share" else _PER.get(variant.metric.name, "")
    return f"{_amount(variant)}{per} instead of {_amount(control)}"


def _change_or_earlier(context: DecisionContext, row: int, variant: VariantResult) -> str:
    """Describe a harmful change; where later data show none, as found at an earlier look."""
    change = _change(context, row, variant)
    is_harm = (variant.compared.absolute_difference or 0.0) * float(context.data.plan.wanted[row, 0]) < 0
    return change if is_harm else f"found at an earlier look and kept, now {change}"
