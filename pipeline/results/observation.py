"""Evidence of an experiment from its published results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.epochs import SETTLING, EpochEvidence
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.funnels import FunnelEvidence
from engine.analysis.evidence.segments import SegmentEvidence, SegmentVisitors
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment
from engine.design.units import unit_name
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.results.covariates import with_indexes
from pipeline.results.epochs import epochs_from
from pipeline.results.evidence import align_to, days_of, evidence_of, follow_up_of
from pipeline.results.filters import SegmentFilters
from pipeline.results.funnels import funnels_of, steps_of
from pipeline.results.known_outcomes import with_known_outcomes
from pipeline.results.largest_visitors import (
    extremes_of,
    goals_to_look_into,
    largest_of,
    largest_visitors,
    with_extremes,
)
from pipeline.results.nightly_interactions import read_interactions
from pipeline.results.other_currencies import read_other_currencies
from pipeline.results.quantiles import with_quantiles
from pipeline.results.segment_evidence import segment_evidence_of, segment_visitors_of
from pipeline.results.senders import read_senders
from pipeline.results.unit_evidence import with_units
from pipeline.results.visitor_values import covariates_of, values_of
from pipeline.rollup.counting_rules import LEFT_OUT
from pipeline.rollup.goals.known_days import last_days
from pipeline.rollup.goals.summed_goals import (
    goals_needing_values,
    goals_with_values,
    kept_goals,
    ratio_goals,
)
from pipeline.rollup.segment_values import dimensions_left_out, stored_values
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.epoch_sums import read_epochs
from pipeline.store.warehouse.extremes import read_kept
from pipeline.store.warehouse.largest_visitors import read_extremes
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_sums import read_cohorts, read_segment
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.shared_visitors import count_shared
from pipeline.store.warehouse.value_sums import SummedGoal, read_steps, read_value_sums
from pipeline.store.warehouse.visitors import column_of


@dataclass(frozen=True, slots=True)
class Observation:
    """Experiment with its published results; one transaction reads them, so all reads are consistent.

    `everyone` are all visitors, and `as_of` is the time up to which every event is counted.
    """

    everyone: SelectedVisitors
    experiment: Experiment
    published: Published
    as_of: datetime
    # Other tests of its exclusion group that had slots at the same time.
    together_with: Sequence[str] = ()

    def of_visitors(self, filters: SegmentFilters, *, days: range, timezone: str) -> Evidence:
        """Read the evidence of visitors who match `filters`, over at least `days` since 1970."""
        visitors, is_part = self.everyone.within(filters.segment, filters.days), not filters.is_everyone
        counted = self._cells(visitors, filters)
        cells = self._align(counted)
        goals = kept_goals(self.experiment, self.published.goals, variants=visitors.variants)
        kept = None if is_part else read_kept(visitors.cursor, self.experiment.id, goals)
        last = last_days(self.experiment, self.published.goals, self.as_of, timezone)
        evidence, known = evidence_of(self.experiment, cells, days), cells
        if last:
            known = self._align(up_to(counted, last))
            evidence = with_known_outcomes(
                self.experiment,
                evidence,
                cohorts=self._align(read_cohorts(visitors, last)),
                known=known,
            )
        epochs = self._epochs(visitors, last)
        # Epochs are analyzed separately, and only counts and revenue are known of each; units have their own.
        is_plain = bool(epochs) or self.everyone.has_units
        values = evidence.values if is_plain else self._values(evidence, visitors, last)
        read = replace(
            evidence,
            epochs=epochs,
            # Neither is known within a segment, and both count visitors of units that are left out.
            segments=None if is_part or self.everyone.has_units else self._visitors_by_segment(),
            follow_up=None if is_part or self.everyone.has_units else self._follow_up(cells, timezone),
            senders=None if kept is None else read_senders(visitors, self.experiment, self.published, kept),
            interactions=None if is_part else read_interactions(visitors.cursor, self.experiment.id),
            other_currencies=None
            if is_part
            else read_other_currencies(visitors.cursor, self.experiment, self.published),
            funnels=self._funnels(visitors, kept),
            in_other_tests=None if is_part else self._in_other_tests(),
            as_of=self.as_of,
            last_exposure_at=_moment(self.published.last_exposed_at),
            values=values,
            covariates={} if values is None else covariates_of(self.experiment, values),
        )
        read = with_quantiles(self.experiment, read, known)
        found = self._with_extremes(read, visitors, last, kept)
        if not visitors.has_units:
            return found
        return with_units(visitors, self.experiment, self.published, found, cells, last)

    def _in_other_tests(self) -> int | None:
        if self.experiment.group_slots is None:
            return None
        ids = (self.everyone.cursor, self.experiment.id, self.together_with)
        return count_shared(*ids, left_out=min(LEFT_OUT))

    def of_segments(self, *, timezone: str) -> SegmentEvidence:
        """Read the evidence of every segment in the aggregates; `left_out` names the other dimensions."""
        if self.everyone.has_units:
            return self._no_segments()
        ids = (self.everyone.cursor, self.experiment.id)
        cells = aggregates.read_totals(*ids)
        last = last_days(self.experiment, self.published.goals, self.as_of, timezone)
        known = aggregates.read_totals(*ids, last) if last else None
        cohorts = aggregates.read_segment_cohorts(*ids, last) if last else None
        return segment_evidence_of(
            self.experiment,
            self._align(cells),
            cohorts=None if cohorts is None else self._align(cohorts),
            known=None if known is None else self._align(known),
            left_out=self._left_out(),
            as_of=self.as_of,
        )

    def _left_out(self) -> dict[str, str]:
        return dimensions_left_out(self.everyone.cursor, self.experiment, self.published)

    def _no_segments(self) -> SegmentEvidence:
        """Say of each dimension why its segments are not compared with all others at once."""
        unit = unit_name(self.experiment.unit)
        reason = f"variants are compared by {unit}, not by visitor: filter results by one segment instead"
        names = sorted(
            {*self.published.dimensions}
            & {*stored_values(self.everyone.cursor, self.experiment).dimensions()}
        )
        return segment_evidence_of(
            self.experiment,
            aggregates.no_totals(),
            left_out=dict.fromkeys(names, reason),
            as_of=self.as_of,
        )

    def _align(self, cells: pl.DataFrame) -> pl.DataFrame:
        return align_to(self.experiment, cells, variants=self.published.variants, goals=self.published.goals)

    def _cells(self, visitors: SelectedVisitors, filters: SegmentFilters) -> pl.DataFrame:
        """Read the sums of visitors from the aggregates, or from their rows if they are not in these."""
        everyone = aggregates.EVERYONE
        (dimension, value), *others = filters.segment.items() or [(everyone, everyone)]
        is_summed = dimension == everyone or dimension in self.published.dimensions
        if is_summed and not others and not visitors.has_units and not filters.given_days:
            return aggregates.read_value(visitors.cursor, self.experiment.id, dimension, value)
        return read_segment(visitors, len(self.published.goals))

    def _epochs(self, visitors: SelectedVisitors, last: Mapping[int, int]) -> EpochEvidence | None:
        """Read the sums by weight epoch; None while there is only one epoch."""
        started_at = [epoch.started_at for epoch in self.experiment.weight_epochs]
        if len(started_at) < 2:
            return None
        starts = [(epoch_microseconds(start), epoch_microseconds(start + SETTLING)) for start in started_at]
        cells = read_epochs(visitors, len(self.published.goals), starts, last_days=last)
        return epochs_from(self.experiment, self._align(cells))

    def _visitors_by_segment(self) -> SegmentVisitors:
        cells = aggregates.read_visitors(self.everyone.cursor, self.experiment.id)
        return segment_visitors_of(self.experiment, self._align(cells))

    def _values(
        self, evidence: Evidence, visitors: SelectedVisitors, last: Mapping[int, int]
    ) -> VisitorValues | None:
        """Take the moments of visitors' values that need more than the aggregates, where they are known."""
        by_last_day: dict[int | None, list[SummedGoal]] = {}
        for goal in goals_needing_values(self.experiment, self.published.goals):
            by_last_day.setdefault(last.get(goal.place), []).append(goal)
        sums = [
            one
            for last_day, goals in by_last_day.items()
            for one in read_value_sums(visitors, goals, last_day=last_day)
        ]
        if not sums:
            return evidence.values
        counted = {"variants": self.published.variants, "goals": self.published.goals}
        values = values_of(self.experiment, evidence, sums, **counted)
        for last_day, goals in by_last_day.items():
            values = with_indexes(visitors, self.experiment, values, goals, last_day=last_day, **counted)
        return values

    def _with_extremes(
        self,
        evidence: Evidence,
        visitors: SelectedVisitors,
        last: Mapping[int, int],
        kept: pl.DataFrame | None,
    ) -> Evidence:
        """Add the extremes of goals that are means, in a segment of ratios, and the largest visitors."""
        goals_of = ratio_goals if kept is None else goals_with_values
        goals = goals_of(self.experiment, self.published.goals)
        # What is kept is of visitors, also of those whose units are left out.
        if kept is None or visitors.has_units:
            extremes = self._align(read_extremes(visitors, goals, last_days=last))
            return with_extremes(self.experiment, evidence, extremes, in_segment=kept is None)
        extremes, largest = self._align(extremes_of(kept, goals, last)), None
        if evidence.epochs is None:
            rows = goals_to_look_into(self.experiment, evidence, extremes)
            ids = {self.experiment.goals[row].id for row in rows}
            places = [goal.place for goal in goals if self.published.goals[goal.place] in ids]
            visitors_of = self._align(largest_visitors(kept, places, last))
            largest = largest_of(self.experiment, evidence, visitors_of)
        return with_extremes(self.experiment, evidence, extremes, largest=largest, in_segment=False)

    def _funnels(self, visitors: SelectedVisitors, kept: pl.DataFrame | None) -> Mapping[int, FunnelEvidence]:
        """Count the visitors at each step of goals that are funnels."""
        counted = self.published.goals
        funnels = [
            counted.index(goal.id)
            for goal in self.experiment.goals
            if "steps" in goal.measure.columns and goal.id in counted
        ]
        if not funnels:
            return {}
        if kept is None or visitors.has_units:
            counts = read_steps(visitors, funnels)
        else:
            # Results of earlier versions have none.
            known = [goal for goal in funnels if column_of(goal, "steps") in visitors.columns]
            counts = steps_of(kept, known)
        return funnels_of(self.experiment, counts, variants=self.published.variants, goals=counted)

    def _follow_up(self, cells: pl.DataFrame, timezone: str) -> FollowUp | None:
        """Read conversions of the primary goal by days since exposure, up to yesterday."""
        today = days_of(self.experiment, timezone, self.as_of)[-1]
        later = self._align(aggregates.read_since_exposure(self.everyone.cursor, self.experiment.id))
        return follow_up_of(self.experiment, cells, later, today=today)


def up_to(cells: pl.DataFrame, last_days: Mapping[int, int]) -> pl.DataFrame:
    """Leave out the sums of visitors first exposed after the last day of a goal, where it has one."""
    last = pl.col("goal").replace_strict(last_days, default=None, return_dtype=pl.Int32)
    return cells.filter(last.is_null() | (pl.col("day") <= last))


def published_at(published: Published) -> datetime:
    """Return the time up to which every event is counted."""
    return from_epoch_microseconds(published.as_of)


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_epoch_microseconds(microseconds)
