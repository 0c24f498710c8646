"""News of results for notification channels: states of a report, and messages about their changes."""

from collections.abc import Iterator
from typing import Final

from engine.analysis.results.goal_limits import harmful_change, is_lower_better
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.variant_result import VariantResult
from engine.analysis.results.verdict_words import CHECK_WORDS, VERDICT_WORDS, verdict_of
from engine.design.project import Project
from pipeline.store.catalog.webhooks.announced_states import PLAN, VERDICT, StateChange
from pipeline.store.catalog.webhooks.channel_message import ChannelMessage
from pipeline.store.catalog.webhooks.webhook_records import ChannelEvent

EVENTS_OF_RESULTS: Final[tuple[ChannelEvent, ...]] = (
    *("decision_ready", "verdict_changed", "data_broken", "guardrail_broken", "guardrail_near_margin"),
    "plan_reached_soon",
)
# Verdicts on which a person decides.
_READY: Final = frozenset({"ship", "rollback", "review", "no_difference"})
_CHECK: Final = "check"
_GUARDRAIL: Final = "guardrail"
_BROKEN: Final = "broken"
_NEAR: Final = "near"
_SOON_DAYS: Final = 7
# Of its margin, from which on a loss that is established is near it.
_NEAR_SHARE: Final = 0.5


def states_of(report: Report) -> dict[str, str]:
    """Return the states of a report by name: verdict, alarms, guardrails in danger, a plan that ends soon."""
    found = {f"{_CHECK}:{one.check}": "alarm" for one in report.health if one.status == "alarm"}
    if report.primary is not None:
        decision = report.primary.decision
        found[VERDICT] = verdict_of(decision.recommendation, decision.reason)
    for goal, variant, state in _guardrails(report):
        found[f"{_GUARDRAIL}:{goal.goal.id}:{variant.variant_id}"] = state
    days = report.plan.days_left
    is_open = report.experiment.status == "running" and not report.plan.is_reached
    if is_open and days is not None and days <= _SOON_DAYS:
        found[PLAN] = "soon"
    return found


def message_about(report: Report, project: Project, change: StateChange) -> ChannelMessage | None:
    """Return the message about a change of a state; None for one that is not told, such as an alarm's end."""
    about, _, rest = change.name.partition(":")
    if change.after is None:
        return None
    if about == VERDICT:
        return _of_verdict(report, project, change)
    if about == PLAN:
        days = report.plan.days_left
        when = "within a day" if days is not None and days <= 1 else f"in about {days} days"
        return _message(report, project, "plan_reached_soon", f"plan reached {when}", _progress(report))
    if about == _CHECK:
        words = CHECK_WORDS[rest]
        no_longer = f"This does not hold: {words.sentence}"
        fix = words.fix or "No verdict is given until the data are fixed."
        return _message(report, project, "data_broken", f"data broken ({words.label})", no_longer, fix)
    return _of_guardrail(report, project, change)


def _of_verdict(report: Report, project: Project, change: StateChange) -> ChannelMessage | None:
    # Data that broke are told of by the alarm.
    if change.after == "fix_data" or report.primary is None:
        return None
    label = VERDICT_WORDS[change.after].label  # type: ignore[index] # of a report
    decision = report.primary.decision
    texts = (decision.headline, decision.next_step)
    if change.after in _READY and change.before not in _READY:
        return _message(report, project, "decision_ready", f"decision ready ({label})", *texts)
    before = VERDICT_WORDS[change.before].label if change.before in VERDICT_WORDS else change.before  # type: ignore[index] # see above
    return _message(report, project, "verdict_changed", f"{label}, before: {before}", *texts)


def _of_guardrail(report: Report, project: Project, change: StateChange) -> ChannelMessage | None:
    found = {f"{_GUARDRAIL}:{one.goal.id}:{of.variant_id}": (one, of) for one, of, _ in _guardrails(report)}
    goal, variant = found[change.name]
    name = goal.goal.name
    if change.after == _BROKEN:
        text = goal.breaks[variant.variant_id]
        return _message(report, project, "guardrail_broken", f"guardrail {name} broken", text)
    if change.before == _BROKEN:
        return None
    loss, margin = variant.improvement or 0.0, harmful_change(goal) or 0.0
    text = f"'{variant.variant_name}' has changed {name} by {loss:+.1%}, and {margin:+.1%} is its margin."
    return _message(report, project, "guardrail_near_margin", f"guardrail {name} near its margin", text)


def _guardrails(report: Report) -> Iterator[tuple[GoalReport, VariantResult, str]]:
    """Yield the guardrails that a variant breaks, or is near the margin of."""
    for goal in report.goals:
        for variant in goal.variants:
            if variant.variant_id in goal.breaks:
                yield goal, variant, _BROKEN
            elif goal.goal.is_guardrail and _is_near(goal, variant):
                yield goal, variant, _NEAR


def _is_near(goal: GoalReport, variant: VariantResult) -> bool:
    """Return whether a loss is established at every look, and is half of the margin or more."""
    margin, change = harmful_change(goal), variant.improvement
    if variant.is_control or not margin or change is None:
        return False
    interval = variant.compared.sequential_interval or variant.improvement_interval
    if interval is None:
        return False
    end = interval.low if is_lower_better(goal) else interval.high
    is_loss = end is not None and (end > 0 if is_lower_better(goal) else end < 0)
    return is_loss and change / margin >= _NEAR_SHARE


def _progress(report: Report) -> str:
    plan = report.plan
    if plan.required_visitors is None:
        return f"{plan.counted:,} {plan.unit} so far."
    return f"{plan.counted:,} of {plan.required_visitors:,} {plan.unit} so far."


def _message(
    report: Report, project: Project, event: ChannelEvent, title: str, *paragraphs: str
) -> ChannelMessage:
    experiment = report.experiment
    return ChannelMessage(
        event=event,
        project_id=project.id,
        project_name=project.name,
        experiment_id=experiment.id,
        title=f"{experiment.name}: {title}",
        paragraphs=[one for one in paragraphs if one],
        path=f"/projects/{project.id}/experiments/{experiment.id}",
    )
