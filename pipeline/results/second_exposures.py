"""Second looks at experiments: the visitors who reached what is changed, counted anew each night."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import is_clustered
from pipeline.results.evidence import days_of
from pipeline.results.filters import SegmentFilters
from pipeline.results.observation import Observation, published_at
from pipeline.rollup.counting_rules import CountingRules, period_of
from pipeline.rollup.due import Due, rules_of
from pipeline.rollup.reached_visitors import ReachedRead, with_reached_goal
from pipeline.rollup.result_tables import ResultTables
from pipeline.rollup.run import Rollup
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.selected_visitors import SelectedVisitors

# Ends the name of the tables, which are undone once they are read.
_SUFFIX: Final = "-reached"


class _ReadToEndError(Exception):
    """Undoes the transaction whose tables were read, so that no row of a visitor is stored twice."""


class SecondExposures:
    """Reports of the visitors who reached what an experiment changes."""

    def __init__(self, warehouse: Warehouse, rollup: Rollup, *, at_once: int) -> None:
        """Count the events of `warehouse` between the runs of `rollup`, about `at_once` at a time."""
        self._warehouse = warehouse
        self._rollup = rollup
        self._at_once = at_once

    def report(self, experiment: Experiment, project: Project, *, now: datetime) -> Report | None:
        """Count and analyze these visitors, by the rules and up to the event of the published results.

        One pass over the project's events. None without an event of them, and where they cannot be told: of
        sums from outside, of units, and where weights changed, as epochs are those of the assignment.
        """
        record = self._rollup.publications.find(experiment.id)
        is_plain = not is_clustered(experiment.unit) and len(experiment.weight_epochs) < 2
        if experiment.exposure is None or record is None or record.sums_from is not None or not is_plain:
            return None
        from engine.analysis.analyze import analyze  # noqa: PLC0415 - slow, and not needed at a start

        plain = _without_past(experiment)
        evidence = self._count(plain, experiment.exposure.event, project, record, now)
        return analyze(plain, evidence, now=now, currency=project.revenue_currency, is_segment=True)

    def _count(
        self, experiment: Experiment, event: str, project: Project, record: Published, now: datetime
    ) -> Evidence:
        rules = rules_of(record, CountingRules.of(project))
        goals = with_reached_goal(experiment, event)
        # The limit of goals beside an exposure leaves room for its own.
        counted = replace(experiment, id=f"{experiment.id}{_SUFFIX}", goals=goals, exposure=None)
        due = Due(experiment=counted, rules=rules, before=None)
        found: list[Evidence] = []
        self._warehouse.require_space()
        # Runs of the rollup change the same totals of the project.
        with (
            self._rollup.pause(),
            TemporaryDirectory(dir=self._warehouse.path.parent) as folder,
            EventReader.open(
                self._warehouse,
                project.id,
                until=record.covered_seq,
                received_until=period_of(experiment)[1],
                skip_bots=rules.bot_filtering,
            ) as reader,
            suppress(_ReadToEndError),
            self._warehouse.transaction() as cursor,
        ):
            read = ReachedRead(
                reader,
                [replace(counted, id=experiment.id)],
                rules,
                at_once=self._at_once,
                folder=Path(folder),
            )
            tables = ResultTables(cursor, [due], is_recount=True)
            tables.recount(read)
            own = record._replace(
                experiment_id=counted.id,
                variants=tuple(one.id for one in counted.variants),
                goals=tuple(one.id for one in goals),
                dimensions=(),
            )
            tables.publish([own])
            published = published_rollups.find(cursor, counted.id) or own
            everyone = SelectedVisitors.everyone(cursor, counted.id, variants=len(own.variants))
            observation = Observation(
                everyone, replace(experiment, id=counted.id), published, published_at(record)
            )
            days = days_of(experiment, project.timezone, now)
            found.append(observation.of_visitors(SegmentFilters(), days=days, timezone=project.timezone))
            raise _ReadToEndError
        return found[0]


def _without_past(experiment: Experiment) -> Experiment:
    """Leave out the pre-period: before the second exposure, visitors have been assigned already."""
    statistics = experiment.statistics
    prior = "flat" if statistics.prior == "pre_period" else statistics.prior
    return replace(experiment, statistics=replace(statistics, cuped=False, prior=prior))
