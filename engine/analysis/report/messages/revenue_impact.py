"""Sentence on the yearly revenue impact."""

from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.report.goal_facts import yearly_of_leader
from engine.analysis.results.formatting import money, share


def yearly(context: DecisionContext) -> str:
    """Describe the yearly impact with its interval; nothing where there is none.

    Where several variants or looks selected the variant, the estimate is corrected for it.
    """
    impact = yearly_of_leader(context.data, context.decision, context.row)
    if impact is None or not round(impact.estimate):
        return ""
    amount, word = abs(impact.estimate), "more" if impact.estimate > 0 else "less"
    low, high = (money(bound, context.currency) for bound in (impact.low, impact.high))
    shrunk = "; shrunk, as the variant was chosen for its result" if impact.is_shrunk else ""
    return (
        f" At current traffic this is about {money(amount, context.currency)} {word} a year"
        f" ({share(impact.level)} interval {low} to {high}{shrunk})."
    )
