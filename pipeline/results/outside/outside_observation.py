"""Evidence of an experiment from sums that were counted outside."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.errors import Problem, TransitionError
from engine.local_days import from_epoch_microseconds
from pipeline.results.evidence import evidence_of
from pipeline.results.filters import CUSTOM_KEY, InvalidFilterError, SegmentFilters
from pipeline.results.known_outcomes import with_known_outcomes
from pipeline.results.nightly_interactions import read_interactions
from pipeline.results.observation import Observation, up_to
from pipeline.results.outside.visitor_needs import needs_of_visitors
from pipeline.results.quantiles import with_quantiles
from pipeline.results.visitor_values import covariates_of, values_of
from pipeline.rollup.goals.known_days import last_days
from pipeline.rollup.goals.summed_goals import goals_needing_values, kept_goals
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.extremes import read_kept
from pipeline.store.warehouse.product_sums import read_products
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX


class OutsideObservation(Observation):
    """Experiment with published sums of another counter, which has the rows of its visitors.

    Senders, and orders in currencies that do not count, are not known.
    """

    __slots__ = ()

    def of_visitors(self, filters: SegmentFilters, *, days: range, timezone: str) -> Evidence:
        """Read the evidence of visitors with the value of at most one dimension, which has sums.

        InvalidFilterError for any other filter, and TransitionError `needs_visitors` where sums are not
        enough any more.
        """
        segment = filters.segment
        require_summed(self.published, segment)
        _refuse_days(self.published, filters)
        if needs := needs_of_visitors(self.experiment):
            raise TransitionError("needs_visitors", f"results from sums cannot be told: {'; '.join(needs)}")
        of_value = next(iter(segment.items()), (aggregates.EVERYONE, aggregates.EVERYONE))
        cursor, ids = self.everyone.cursor, (self.experiment.id, *of_value)
        counted = aggregates.read_value(cursor, *ids)
        cells = known = self._align(counted)
        evidence = evidence_of(self.experiment, cells, days)
        last = last_days(self.experiment, self.published.goals, self.as_of, timezone)
        if last:
            known = self._align(up_to(counted, last))
            cohorts = self._align(aggregates.read_value_cohorts(cursor, *ids, last))
            evidence = with_known_outcomes(self.experiment, evidence, cohorts=cohorts, known=known)
        values = self._values_of(evidence, counted, of_value, last)
        exposed = self.published.last_exposed_at
        read = replace(
            evidence,
            segments=None if segment else self._visitors_by_segment(),
            follow_up=None if segment else self._follow_up(cells, timezone),
            as_of=self.as_of,
            sums_from=self.published.sums_from,
            interactions=None if segment else read_interactions(cursor, self.experiment.id),
            last_exposure_at=None if exposed is None else from_epoch_microseconds(exposed),
            values=values,
            covariates={} if values is None else covariates_of(self.experiment, values),
        )
        read = with_quantiles(self.experiment, read, known)
        return read if segment else self._with_largest(read, last)

    def _values_of(
        self,
        evidence: Evidence,
        counted: pl.DataFrame,
        of_value: tuple[str, str],
        last: Mapping[int, int],
    ) -> VisitorValues | None:
        """Take the moments of visitors' values from their products."""
        dimension, value = of_value
        exposed = counted.filter(
            pl.col("goal").is_null() & (pl.col("variant") < len(self.published.variants))
        )
        found = [
            one
            for goal in goals_needing_values(self.experiment, self.published.goals)
            for one in read_products(
                self.everyone.cursor,
                self.experiment.id,
                [goal],
                dimension=dimension,
                value=value,
                visitors=_visitors(exposed, last.get(goal.place)),
                last_day=last.get(goal.place),
            )
        ]
        if not found:
            return evidence.values
        places = {"variants": self.published.variants, "goals": self.published.goals}
        return values_of(self.experiment, evidence, found, **places)

    def _with_largest(self, evidence: Evidence, last: Mapping[int, int]) -> Evidence:
        """Add the largest visitors and the steps of funnels, where they were handed in."""
        variants = len(self.published.variants)
        goals = kept_goals(self.experiment, self.published.goals, variants=variants)
        kept = read_kept(self.everyone.cursor, self.experiment.id, goals)
        if kept.is_empty():
            return evidence
        found = replace(evidence, funnels=self._funnels(self.everyone, kept))
        return self._with_extremes(found, self.everyone, last, kept)

    def _follow_up(self, cells: pl.DataFrame, timezone: str) -> FollowUp | None:
        """Read the follow-up, where conversions by days since exposure were handed in."""
        cursor, experiment_id = self.everyone.cursor, self.experiment.id
        if aggregates.read_since_exposure(cursor, experiment_id).is_empty():
            return None
        return super()._follow_up(cells, timezone)

    def _left_out(self) -> dict[str, str]:
        reason = f"the sums of {self.published.sums_from} are not split by it"
        return dict.fromkeys(sorted(DIMENSIONS.keys() - {*self.published.dimensions}), reason)


def _visitors(exposed: pl.DataFrame, last_day: int | None) -> dict[int, int]:
    """Count visitors by variant, first exposed up to a day where there is one."""
    until = exposed if last_day is None else exposed.filter(pl.col("day") <= last_day)
    return dict(until.group_by("variant").agg(pl.col("visitors").sum()).iter_rows())


def _refuse_days(published: Published, filters: SegmentFilters) -> None:
    """Raise InvalidFilterError for days of first exposure, whose visitors have no sums of their own."""
    message = f"the sums of {published.sums_from} are of all days together; leave it out"
    if filters.given_days:
        raise InvalidFilterError(tuple(Problem(name, message) for name in filters.given_days))


def require_summed(published: Published, segment: Mapping[str, str]) -> None:
    """Raise InvalidFilterError unless sums tell of the visitors of a segment."""
    others = [name for name in segment if name not in published.dimensions]
    known = ", ".join(published.dimensions) or "none"
    problems = [
        Problem(
            CUSTOM_KEY if name.startswith(CUSTOM_PREFIX) else name,
            f"the sums of {published.sums_from} are not split by it; those that they are split by: {known}",
        )
        for name in others
    ]
    if not problems and len(segment) > 1:
        *_, name = segment
        problems.append(
            Problem(
                CUSTOM_KEY if name.startswith(CUSTOM_PREFIX) else name,
                f"the sums of {published.sums_from} are split by one dimension at a time; filter by one",
            )
        )
    if problems:
        raise InvalidFilterError(tuple(problems))
