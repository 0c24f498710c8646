"""What was observed in an experiment, read from what is published of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.epochs import SETTLING, EpochEvidence
from engine.analysis.evidence.segments import SegmentEvidence, SegmentVisitors
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.design.reweighting import epochs_of
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.results.epochs import epochs_from
from pipeline.results.evidence import align_to, days_of, evidence_of, follow_up_of
from pipeline.results.segment_evidence import segment_evidence_of, segment_visitors_of
from pipeline.results.visitor_values import goals_needing_values, values_of
from pipeline.rollup.segment_values import dimensions_left_out
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.epoch_sums import read_epochs
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_sums import read_segment
from pipeline.store.warehouse.value_sums import ValueSums, read_value_sums


@dataclass(frozen=True, slots=True)
class Observation:
    """An experiment and what is published of it; `cursor` is in a transaction, so all is of one publication.

    `as_of` is when this was all there was to observe.
    """

    cursor: Cursor
    experiment: Experiment
    published: Published
    as_of: datetime

    def of_visitors(self, segment: Mapping[str, str], *, days: range, timezone: str) -> Evidence:
        """The evidence of visitors with every value of `segment`, over at least these `days` since 1970."""
        placed = self._placed(self._cells(segment))
        evidence = evidence_of(self.experiment, placed, days)
        epochs = self._epochs(segment)
        # Means of epochs are averaged, and only counts and revenue are known of each.
        sums = [] if epochs else self._value_sums(segment)
        ids = {"variants": self.published.variants, "goals": self.published.goals}
        return replace(
            evidence,
            epochs=epochs,
            # Sums by segment have neither other segments nor days since exposure.
            segments=None if segment else self._visitors_by_segment(),
            follow_up=None if segment else self._followed(placed, timezone),
            as_of=self.as_of,
            last_exposure_at=_moment(self.published.last_exposed_at),
            values=values_of(self.experiment, evidence, sums, **ids) if sums else None,
        )

    def of_segments(self) -> SegmentEvidence:
        """The evidence of every segment that is summed up ahead; `left_out` names the others."""
        cells = aggregates.read_totals(self.cursor, self.experiment.id)
        return segment_evidence_of(
            self.experiment,
            self._placed(cells),
            left_out=dimensions_left_out(self.cursor, self.experiment.id, self.published),
            as_of=self.as_of,
        )

    def _placed(self, cells: pl.DataFrame) -> pl.DataFrame:
        return align_to(self.experiment, cells, variants=self.published.variants, goals=self.published.goals)

    def _cells(self, segment: Mapping[str, str]) -> pl.DataFrame:
        """Sums taken ahead where there are any for what is asked, and sums over visitors elsewhere."""
        everyone = aggregates.EVERYONE
        (dimension, value), *others = segment.items() or [(everyone, everyone)]
        if not others and (dimension == everyone or dimension in self.published.dimensions):
            return aggregates.read_value(self.cursor, self.experiment.id, dimension, value)
        return read_segment(self.cursor, self.experiment.id, len(self.published.goals), segment)

    def _epochs(self, segment: Mapping[str, str]) -> EpochEvidence | None:
        """Sums over visitors by what split them; None where that never changed."""
        began = [epoch.started_at for epoch in epochs_of(self.experiment)]
        if len(began) < 2:
            return None
        starts = [(epoch_microseconds(start), epoch_microseconds(start + SETTLING)) for start in began]
        goals = len(self.published.goals)
        cells = read_epochs(self.cursor, self.experiment.id, goals, starts, segment)
        return epochs_from(self.experiment, self._placed(cells))

    def _visitors_by_segment(self) -> SegmentVisitors:
        cells = aggregates.read_visitors(self.cursor, self.experiment.id)
        return segment_visitors_of(self.experiment, self._placed(cells))

    def _value_sums(self, segment: Mapping[str, str]) -> list[ValueSums]:
        """What sums taken ahead don't tell, of goals that are judged on it; straight from the visitors."""
        asked = goals_needing_values(self.experiment, self.published.goals)
        variants = len(self.published.variants)
        return (
            read_value_sums(self.cursor, self.experiment.id, asked, segment, variants=variants)
            if asked
            else []
        )

    def _followed(self, cells: pl.DataFrame, timezone: str) -> FollowUp | None:
        """Conversions of the primary goal by days since exposure, before today, which is not over."""
        today = days_of(self.experiment, timezone, self.as_of)[-1]
        later = self._placed(aggregates.read_since_exposure(self.cursor, self.experiment.id))
        return follow_up_of(self.experiment, cells, later, today=today)


def published_at(published: Published) -> datetime:
    """When it was brought up to date."""
    return from_epoch_microseconds(published.as_of)


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_epoch_microseconds(microseconds)
