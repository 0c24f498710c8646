"""Harm during a ramp: the end of the experiment, a pause, or a note, as the ramp says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from engine.design.conclusion import LONGEST_NOTE, ShipRequest
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN, pause
from engine.design.ramp import Harm
from engine.design.ramp_steps import current_step, is_over
from engine.design.shipping import Decider, ship
from engine.vocabulary import HarmAction

# The member who decides, where a ramp ends an experiment.
RAMP: Final = Decider(member_id="ramp", name="Guarded ramp", rollout_id="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A reason for a ramp to act or wait: a harmed goal by id, or a health check that alarms by name."""

    name: str
    message: str
    variant_ids: tuple[str, ...] = ()
    is_harm: bool = True


def is_guarded(experiment: Experiment, *, now: datetime) -> bool:
    """Tell whether a ramp acts on harm: from the start until its last step, or the experiment, is over."""
    has_begun = current_step(experiment) is not None and experiment.status in OPEN
    return has_begun and not is_over(experiment, now=now)


def new_findings(experiment: Experiment, findings: Sequence[Finding]) -> list[Finding]:
    """List the findings that the ramp has not acted on yet."""
    known = {name for harm in experiment.ramp_harm for name in harm.findings}
    return [one for one in findings if one.name not in known]


def answer_findings(
    experiment: Experiment, findings: Sequence[Finding], *, has_alarm: bool, now: datetime
) -> Experiment:
    """Note new findings, and act on harm as the ramp says; an alarm of a health check is told only.

    While the experiment `has_alarm`, its data decide nothing for good: `rollback` pauses it.
    """
    ramp = experiment.ramp
    if ramp is None:
        return experiment
    action = _action(ramp.on_harm, findings, has_alarm=has_alarm)
    message = "\n".join(one.message for one in findings)[:LONGEST_NOTE]
    harm = Harm(
        found_at=now,
        findings=tuple(one.name for one in findings),
        variant_ids=tuple(dict.fromkeys(it for one in findings for it in one.variant_ids)),
        action=action,
        message=message,
    )
    noted = replace(experiment, ramp_harm=(*experiment.ramp_harm, harm), updated_at=now)
    if action == "rollback":
        return ship(noted, ShipRequest(decision="keep_control", note=message), (), by=RAMP, now=now)
    if action == "pause" and noted.status == "running":
        return pause(noted, now=now)
    return noted


def _action(on_harm: HarmAction, findings: Sequence[Finding], *, has_alarm: bool) -> HarmAction:
    if not any(one.is_harm for one in findings):
        return "tell"
    return "pause" if has_alarm and on_harm == "rollback" else on_harm
