"""Sentences on the plan: what an action rests on, how far the plan is, and what was recorded."""

from datetime import timedelta

from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.results.formatting import day, share, signed
from engine.analysis.results.verdict_words import label_of
from engine.design.goal import Goal
from engine.design.planning.plan_days import FIRST_DAY, LAST_DAY
from engine.design.planning.required_sample import POWER


def basis(context: DecisionContext) -> str:
    """Say what an action rests on: every look, or the one look at the plan."""
    sample = context.sample
    if sample.source == "finished":
        return " Judged by one look at the complete data."
    # At the plan the bounds of "no difference" are those of one look, which are tighter.
    at_plan = sample.is_reached and context.decision.reason == "no_difference"
    if context.decision.holds_at_every_look and not at_plan:
        return f" This holds at every look{_before_the_plan(context)}."
    if context.judged_at is None:
        return f" Judged by the one look at the plan: {sample.collected:,} {are_in(context)}."
    if has_changed(context):
        return f" Judged by the look at the plan, recorded on {day(context.judged_at)}, and what holds since."
    return f" Judged by the one look at the plan, recorded on {day(context.judged_at)}."


def _before_the_plan(context: DecisionContext) -> str:
    if context.sample.is_reached:
        return ""
    if context.has_ended:
        return f", though the plan was not reached{_of_required(context)}"
    return f", so it need not wait for the plan{_of_required(context)}"


def _of_required(context: DecisionContext) -> str:
    sample = context.sample
    if sample.required_visitors is None or sample.progress is None:
        return ""
    if sample.collected >= sample.required_visitors:
        return " or the end of the first week" if not context.has_ended else ""
    return f" ({at_most_99(sample.progress)} of {sample.required_visitors:,} {are_in(context)})"


def counted(context: DecisionContext) -> str:
    """Name what the plan counts."""
    is_known = context.sample.counts_outcomes and not context.data.plan.in_clusters
    return "known outcomes" if is_known else f"{context.data.evidence.noun}s"


def are_in(context: DecisionContext) -> str:
    """Say that what the plan counts is there."""
    is_known = context.sample.counts_outcomes and not context.data.plan.in_clusters
    return "outcomes are known" if is_known else f"{context.data.evidence.noun}s are in"


def first_outcomes(context: DecisionContext, goal: Goal) -> str:
    """Say when the first outcomes of a goal are known of which none is, in a sentence.

    They are known together of all visitors first exposed on one local day, once that is over as well.
    """
    started, days = context.experiment.started_at, goal.known_after
    if context.has_ended or started is None:
        return f"No outcome of {goal.name} was known when the experiment ended."
    if days is None:
        return f"No outcome of {goal.name} is known yet."
    first = day(started + timedelta(days=days + 1))
    return f"The first outcomes of {goal.name} are known on {first}, day {days + 1} of the test."


def completing(context: DecisionContext) -> str:
    """Say how to complete the experiment, to be followed by what to do then.

    While outcomes are open it is paused first: completing it would lose them.
    """
    open_visitors = context.data.evidence.open_visitors(context.data.plan.known_after)
    if not open_visitors or context.sample.source == "finished":
        return "Complete the experiment and"
    outcomes = f"the outcomes of {open_visitors:,} visitors"
    if context.experiment.status == "paused":
        return f"Wait until {outcomes} are known; then complete the experiment and"
    return (
        f"Pause the experiment, so that nobody new enters while {outcomes} become known; then complete it and"
    )


def at_most_99(progress: float) -> str:
    """Format the progress of a plan that is not reached: rounded down, so never as 100%."""
    return f"{int(100 * progress)}%" if progress >= 0.01 else "less than 1%"


def progress(context: DecisionContext) -> str:
    """Describe the plan, its source, its progress and what it can find."""
    sample = context.sample
    if sample.required_visitors is None or sample.progress is None:
        return f" Too little is known for a plan yet; the test ends on running day {LAST_DAY} at the latest."
    if sample.collected >= sample.required_visitors and context.sample.is_first_week_over is False:
        weekdays = f"the test runs to day {FIRST_DAY}, so that every weekday counts"
        return f" The planned {sample.required_visitors:,} {are_in(context)}; {weekdays}."
    source = {"given": "set for the experiment", "last_day": f"ends on running day {LAST_DAY}"}.get(
        sample.source, f"estimated from all {counted(context)} so far"
    )
    so_far = f"{sample.collected:,} of {sample.required_visitors:,} {counted(context)}"
    plan = f" The plan is at {at_most_99(sample.progress)}: {so_far} ({source}){_to_find(context)}."
    return plan + _open(context) + _since(context)


def _open(context: DecisionContext) -> str:
    """Count the visitors whose outcome is still to come."""
    sample = context.sample
    if not sample.known_after or sample.visitors == sample.collected:
        return ""
    more = f"{context.data.evidence.noun}s"
    return f" The outcomes of {sample.visitors - sample.collected:,} more {more} are still to come."


def _since(context: DecisionContext) -> str:
    """Say since when looks count outcomes, where earlier ones counted visitors."""
    since = context.sample.outcomes_since
    if since is None or not context.sample.counts_outcomes:
        return ""
    return f" Since {day(since)} looks count known outcomes; earlier ones counted visitors."


def _to_find(context: DecisionContext) -> str:
    """Say what the plan can find; or, where LAST_DAY comes first, what that can."""
    sample = context.sample
    if sample.detectable_effect is None or sample.required_visitors is None:
        return ""
    found = f"a change of {share(sample.detectable_effect)} is found with {POWER:.0%} power"
    if sample.detectable_effect > 1:
        found = "even a doubling may be missed"
    if sample.tuned_to < sample.required_visitors:
        return f"; running day {LAST_DAY} comes first, by which {found}"
    return f"; by then {found}"


def found_by_plan(context: DecisionContext) -> str:
    """Say what effect the visitors of the plan would have shown."""
    effect = context.sample.detectable_effect
    if effect is None:
        return ""
    if effect > 1:
        return " Even a doubling might have been missed."
    found = f"A change of {share(effect)} would have been found with {POWER:.0%} power"
    return f" {found}; a smaller one may exist."


def how_long(context: DecisionContext) -> str:
    """Say how long to keep the experiment running."""
    sample, status = context.sample, context.experiment.status
    verb = (
        "Resume the experiment and keep it running" if status == "paused" else "Keep the experiment running"
    )
    required, days = sample.required_visitors, context.sample.days_left
    is_missing = required is not None and sample.collected < required
    until = f" until {required:,} {are_in(context)}" if is_missing else ""
    if days:
        for_days = f" for about {'1 more day' if days == 1 else f'{days:,} more days'}"
        ends = sample.running_days is not None and sample.running_days + days >= LAST_DAY
        if ends and sample.source != "given":
            until = f", until running day {LAST_DAY}"
        elif until:
            until = f",{until}"
        return f"{verb}{for_days}{until}."
    return f"{verb}{until or ' until its plan is reached'}."


def first_week(context: DecisionContext) -> str:
    """Say that no winner is called in the first week; nothing after it."""
    if context.sample.is_first_week_over:
        return ""
    return f" No winner is called before running day {FIRST_DAY}, so that every weekday counts."


def has_changed(context: DecisionContext) -> bool:
    """Whether the action differs from the one recorded at the plan."""
    recorded, decision = context.sample.recorded, context.decision
    if recorded is None:
        return False
    return (decision.recommendation, decision.reason) != (recorded.recommendation, recorded.reason)


def beside_record(context: DecisionContext) -> str:
    """Compare the verdict and the change with those recorded at the plan; nothing where they agree."""
    recorded, decision = context.sample.recorded, context.decision
    if recorded is None or context.judged_at is None:
        return ""
    when = day(recorded.taken_at)
    if has_changed(context):
        before = label_of(recorded.recommendation, recorded.reason)
        after = label_of(decision.recommendation, decision.reason)
        if before == after:
            return f" The verdict of {when} was '{before}' for another reason; later data changed it."
        return f" Later data changed the verdict of {when} from '{before}' to '{after}'."
    leader = context.leader
    if leader is None or leader.improvement is None:
        return ""
    then = _recorded_change(context)
    if then is None or signed(then) == signed(leader.improvement):
        return ""
    return (
        f" The verdict of {when} stays: the change was {signed(then)} then, and is"
        f" {signed(leader.improvement)} with later data."
    )


def _recorded_change(context: DecisionContext) -> float | None:
    """Return the leader's lift at the recorded look; None where means do not give it."""
    recorded, leader, control = context.sample.recorded, context.leader, context.control
    if recorded is None or leader is None or control is None:
        return None
    plan = context.data.plan
    if context.data.by_epoch is not None or (plan.is_bayesian and plan.statistics.prior != "flat"):
        return None
    arms = recorded.comparisons.get(context.goal.id, {})
    if leader.variant_id not in arms or control.variant_id not in arms:
        return None
    base = arms[control.variant_id].mean
    return arms[leader.variant_id].mean / base - 1.0 if base > 0 else None
