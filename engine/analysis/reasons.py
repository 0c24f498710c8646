"""Why a number is missing or a verdict is withheld, in words that finish the sentence 'a comparison would mislead: …'."""

from engine.analysis.evidence import Evidence
from engine.analysis.judgement import MIN_CONVERSIONS, MIN_PAYING_VISITORS, MIN_VISITORS, Judgement
from engine.design.experiment import Experiment


def why_missing(
    experiment: Experiment, evidence: Evidence, judgement: Judgement, cell: tuple[int, int]
) -> str | None:
    """Say what stands in the way of a full answer about a variant on a goal; None if nothing does."""
    goal, variant = cell
    control = next((i for i, arm in enumerate(experiment.variants) if arm.is_control), None)
    if control is None:
        return "there is no control to compare with"
    name, control_name = experiment.variants[variant].name, experiment.variants[control].name
    for arm, arm_name in ((control, control_name), (variant, name)):
        if evidence.visitors[arm] == 0:
            return f"'{arm_name}' has no visitors yet"
    found = judgement.comparisons
    is_revenue = experiment.goals[goal].goal_type == "revenue"
    metric = "revenue" if is_revenue else "conversions"
    for arm, arm_name in ((control, control_name), (variant, name)):
        if evidence.visitors[arm] < MIN_VISITORS:
            return (
                f"'{arm_name}' has {evidence.visitors[arm]:,} of the {MIN_VISITORS} visitors a verdict needs"
            )
    both = int(evidence.conversions[goal, control] + evidence.conversions[goal, variant])
    needed = MIN_PAYING_VISITORS if is_revenue else MIN_CONVERSIONS
    if both < needed:
        who = "paying visitors" if is_revenue else "conversions"
        return (
            f"'{control_name}' and '{name}' have {both} of the {needed} {who} that a verdict needs together"
        )
    if found.log_p[cell] != found.log_p[cell]:
        return "no visitor's revenue differs from another's, so chance can't be measured"
    if found.improvement[cell] != found.improvement[cell]:
        return f"'{control_name}' has no {metric}, so a relative change can't be given"
    if found.low[cell] != found.low[cell]:
        return (
            f"the {metric} of '{control_name}' can't be told from zero, so the relative change has no limits"
        )
    if judgement.status[cell] == "inconclusive" and judgement.lead[goal] not in (-1, variant):
        lead = int(judgement.lead[goal])
        if judgement.status[goal, lead] == "winner" and judgement.score[cell] >= 1 - judgement.alpha:
            return f"it beats '{control_name}' too, but '{experiment.variants[lead].name}' does better"
    return None
