"""Rows of lists: an experiment with its verdict, its change on an axis of the page, and its plan in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from api.dashboard.audience import audience_of
from api.dashboard.interval_bar import Axis, IntervalBar, axis_of
from engine.analysis.results.kept_verdict import KeptVerdict
from engine.analysis.results.report import Reason, Tone
from engine.analysis.results.variant_result import VariantStatus
from engine.analysis.results.verdict_words import LIFE_WORDS, VERDICT_WORDS, ShortWord, Verdict, end_word
from engine.design.lifecycle import OPEN, UNSTARTED
from engine.vocabulary import Status
from pipeline.store.catalog.experiment_listings import ListedExperiment, ListedVerdict

# Verdicts that wait for a decision of a person.
DECIDABLE: Final[frozenset[Verdict]] = frozenset({"ship", "rollback", "review", "no_difference"})
# Their intervals would make those of all others small.
_NO_AXIS: Final[frozenset[Verdict]] = frozenset({"insufficient_data", "fix_data"})
_TONES: Final[Mapping[VariantStatus, Tone]] = {"winner": "positive", "loser": "negative"}
# What a review waits for, in few words.
_REVIEWS: Final[Mapping[Reason, str]] = {
    "guardrail_broken": "guardrail broken",
    "guardrail_unknown": "guardrail still open",
    "guardrail_unjudged": "guardrail not judged",
    "guardrail_inconclusive": "guardrail unclear",
    "goal_harmed": "another goal is worse",
    "measured_differs": "measured of other visitors",
    "one_visitor": "one visitor decides",
    "ended_early": "ended before its plan",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An experiment in a list; `why_no_bar` says what stands in the place of a bar."""

    experiment: ListedExperiment
    kept: KeptVerdict | None
    owner: str | None
    bar: IntervalBar | None
    why_no_bar: str

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"/projects/{self.experiment.project_id}/experiments/{self.experiment.id}"

    @property
    def goal(self) -> str | None:
        """The name of its primary goal."""
        return next((one.name for one in self.experiment.goals if one.is_primary), None)

    @property
    def audience(self) -> str:
        """The visitors who take part, and the page."""
        one = self.experiment
        return audience_of(
            url=one.url,
            url_rules=one.url_rules,
            traffic_allocation=one.traffic_allocation,
            targeting_rules=one.targeting_rules,
        )

    @property
    def word(self) -> ShortWord:
        """The verdict, or the status of one that is not running and has none."""
        status = self.experiment.status
        if status in UNSTARTED or (status == "paused" and not self.is_decidable):
            return LIFE_WORDS[status]
        return VERDICT_WORDS[self.kept.verdict if self.kept else "insufficient_data"]

    @property
    def life(self) -> ShortWord:
        """The word of its status."""
        return LIFE_WORDS[self.experiment.status]

    @property
    def end(self) -> ShortWord | None:
        """The word of what was decided; None before."""
        decided = self.experiment.conclusion
        verdict = self.kept.verdict if self.kept else None
        return None if decided is None else end_word(decided["decision"], verdict)

    @property
    def is_broken(self) -> bool:
        """Whether its data are not to be relied on."""
        return self.kept is not None and self.kept.verdict == "fix_data"

    @property
    def is_decidable(self) -> bool:
        """Whether it waits for a decision."""
        is_open = self.experiment.status in (*OPEN, "completed") and self.experiment.conclusion is None
        return is_open and self.kept is not None and self.kept.verdict in DECIDABLE

    @property
    def change(self) -> float | None:
        """The change as a share; None where it is not shown."""
        return self.bar.point if self.bar else None

    @property
    def day(self) -> int | None:
        """The running day, from 1; None before the start."""
        days = self.kept.plan.running_days if self.kept else None
        return None if days is None else max(1, ceil(days))

    @property
    def last_day(self) -> int | None:
        """The running day on which the plan is reached at the pace so far."""
        left = self.kept.plan.days_left if self.kept else None
        return None if self.day is None or left is None else self.day + left

    @property
    def progress(self) -> float | None:
        """The share of the plan that is reached."""
        return self.kept.plan.progress if self.kept else None

    @property
    def decision_at(self) -> datetime | None:
        """The day on which the plan is reached at the pace so far."""
        left = self.kept.plan.days_left if self.kept else None
        return self.kept.counted_at + timedelta(days=left) if self.kept and left else None

    @property
    def plan_in_words(self) -> tuple[str, datetime | None]:
        """What stands beside the progress: words, and a time that they go on with."""
        one, kept = self.experiment, self.kept
        of_life: dict[Status, tuple[str, datetime | None]] = {
            "draft": ("not started", None),
            "scheduled": ("starts", one.scheduled_start_at),
            "completed": ("ended", one.completed_at),
            "archived": ("ended", one.completed_at),
        }
        if one.status in of_life:
            return of_life[one.status]
        return ("not counted yet", None) if kept is None else self._waits_for(kept)

    def _waits_for(self, kept: KeptVerdict) -> tuple[str, datetime | None]:
        if self.is_broken:
            return "stopped by a check", None
        if kept.reason is not None and kept.reason in _REVIEWS:
            return _REVIEWS[kept.reason], None
        if kept.plan.is_reached:
            return "waiting since", kept.plan.reached_at or kept.since
        if kept.verdict in DECIDABLE:
            return "holds at every look", None
        at = self.decision_at
        return (
            ("paused" if self.experiment.status == "paused" else "no pace yet", None)
            if at is None
            else ("about", at)
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a page on one axis."""

    rows: Sequence[Row]
    axis: Axis


def rows_of(found: Iterable[ListedVerdict], owners: Mapping[str, str]) -> Rows:
    """Describe the experiments of a page; `owners` are names of members by id."""
    listed = list(found)
    shown = [one.kept for one in listed if one.kept and one.kept.verdict not in _NO_AXIS]
    # A young experiment's wide interval ends in an arrow, where others are decided.
    decided = [one for one in shown if one.verdict in DECIDABLE] or shown
    axis = axis_of(one.lift.improvement_interval for one in decided if one.lift)
    return Rows([_row(one, owners, axis) for one in listed], axis)


def _row(found: ListedVerdict, owners: Mapping[str, str], axis: Axis) -> Row:
    one, kept = found.experiment, found.kept
    bar, why = (None, "") if one.status in UNSTARTED else _bar(kept, axis)
    owner = owners.get(one.assigned_user_ids[0]) if one.assigned_user_ids else None
    return Row(experiment=one, kept=kept, owner=owner, bar=bar, why_no_bar=why)


def _bar(kept: KeptVerdict | None, axis: Axis) -> tuple[IntervalBar | None, str]:
    """Return the bar of the change, or what to say instead."""
    if kept is None:
        return None, "not counted yet"
    if kept.verdict == "fix_data":
        return None, "not shown: fix the data first"
    lift = kept.lift
    if lift is None or lift.improvement is None or lift.improvement_interval is None:
        return None, "too few visitors yet"
    bar = IntervalBar(
        point=lift.improvement,
        interval=lift.improvement_interval,
        every_look=lift.sequential_interval,
        axis=axis.limit,
        margin=kept.plan.minimum_effect,
        tone=_TONES.get(lift.status, "neutral"),
    )
    return bar, ""
