"""Assessment of the confidence reached, true to the method of the numbers."""

from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.results.formatting import chance, p_text, share
from engine.analysis.results.variant_result import VariantResult

GUARDRAIL = " That is of any difference; the guardrail is judged by its margin."
UNKNOWN = "Not enough data to assess the confidence yet."
# Adjustments of p values for several comparisons, in words.
ADJUSTMENTS = {"holm": "Holm", "dunnett": "Dunnett"}
SEQUENTIAL = {"always_valid": "always-valid", "group_sequential": "group-sequential"}


def assess_confidence(context: DecisionContext) -> str:
    """Compare the confidence reached with the confidence required."""
    leader, control = context.leader, context.control
    if context.alarms:
        return "These results are not reliable until the data problem is fixed."
    if leader is None or control is None or _is_unknown(leader):
        return UNKNOWN
    of_guardrail = GUARDRAIL if context.data.plan.is_guardrail[context.row] else ""
    return _by_method(context, leader, control) + of_guardrail


def _is_unknown(leader: VariantResult) -> bool:
    return leader.status == "insufficient_data" or None in {leader.compared.score_value, leader.p_value}


def _by_method(context: DecisionContext, leader: VariantResult, control: VariantResult) -> str:
    plan, p = context.data.plan, leader.p_value or 0.0
    if plan.is_bayesian:
        return _chance(context, leader, control)
    if plan.statistics.sequential != "none":
        return _sequential(context, p)
    if plan.statistics.correction in ADJUSTMENTS and len(context.challengers) > 1:
        return _adjusted(context, p)
    return _single_look(context, p)


def _chance(context: DecisionContext, leader: VariantResult, control: VariantResult) -> str:
    """Compare the posterior chance with the threshold; alone it stops nothing."""
    score = leader.compared.score_value or 0.0
    text = chance(score)
    pair = f"'{leader.variant_name}' is better than '{control.variant_name}'"
    threshold = context.data.plan.threshold
    counts = f"It counts as better from {share(threshold)}, and as worse up to {share(1.0 - threshold)}"
    waits = "; the action waits for what holds at every look, or for the plan" if _goes_on(context) else ""
    adjusted = leader.compared.adjusted_chance_to_beat
    several = "" if adjusted is None else f" With Holm's adjustment for several variants: {chance(adjusted)}."
    return f"{text[0].upper()}{text[1:]} chance that {pair}, by this look's data. {counts}{waits}.{several}"


def _sequential(context: DecisionContext, p: float) -> str:
    """Compare a p value that is valid at every look with the level."""
    alpha, kind = context.data.plan.decision_alpha, SEQUENTIAL[context.data.plan.statistics.sequential]
    numbers = f"{kind} p {p_text(p, alpha)}; {_level(alpha)} is needed."
    if p <= alpha:
        return f"Clear enough at this look, however many there are: {numbers}"
    return f"Not yet clear enough to stop: {numbers}" if _goes_on(context) else f"Not clear: {numbers}"


def _adjusted(context: DecisionContext, p: float) -> str:
    """Compare a p value that is adjusted for several variants with the level."""
    alpha, method = context.data.plan.decision_alpha, ADJUSTMENTS[context.data.plan.statistics.correction]
    clear = "Clear" if p <= alpha else "Not clear"
    return (
        f"{clear} at a single look: p {p_text(p, alpha)}, adjusted for {len(context.challengers)} variants"
        f" ({method}); {_level(alpha)} is needed.{_before_the_plan(context, p, alpha)}"
    )


def _single_look(context: DecisionContext, p: float) -> str:
    """Explain the p value of a single look, and compare it with the level."""
    alpha, effect = context.data.plan.decision_alpha, "one"
    if context.data.plan.is_one_sided:
        # A loss is judged by the opposite test.
        is_loss = context.leader is not None and context.is_loss(context.leader)
        effect, p = ("a loss", 1.0 - p) if is_loss else ("a gain", p)
    text = chance(p)
    text = _apart_from(alpha, p) or f"{text[0].upper()}{text[1:]}"
    meaning = (
        f"below the significance level of {share(alpha)}"
        if p <= alpha
        else f"above the significance level of {share(alpha)}, so the difference may be due to chance"
    )
    return (
        f"{text} of tests without a true difference would show {effect} at least this large at a single look"
        f" (p-value). That is {meaning}.{_before_the_plan(context, p, alpha)}"
    )


def _apart_from(alpha: float, p: float) -> str | None:
    """Format a p value with more digits where it would round onto the level; None elsewhere."""
    if share(p) != share(alpha) or p == alpha:
        return None
    return f"{100 * float(p_text(p, alpha).removeprefix('= ')):.10g}%"


def _before_the_plan(context: DecisionContext, p: float, alpha: float) -> str:
    """Say that a significant single look does not decide before the plan."""
    if p > alpha or not _goes_on(context):
        return ""
    return " It counts at the plan; before it, only what holds at every look does."


def _goes_on(context: DecisionContext) -> bool:
    return context.decision.recommendation == "keep_running"


def _level(alpha: float) -> str:
    return f"{alpha:.4g}"
