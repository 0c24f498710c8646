"""Selection of a project's experiments for a run, by their published records."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.rollup.count_and_publish import RollupScope
from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.due import Due, find_due, is_settled, rules_of
from pipeline.rollup.publications import Publications
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse.published import Published


@dataclass(frozen=True, slots=True)
class Selection:
    """Experiments of projects in `catalog`, with the records that `publications` has of them."""

    catalog: Catalog
    publications: Publications

    def due(
        self, project: Project, scope: RollupScope, experiment_ids: Collection[str] | None = None
    ) -> list[Due]:
        """List the experiments with something to count up to `scope`, of these ids or of all."""
        experiments = self._unsettled(project, experiment_ids)
        return find_due(
            experiments, self._published(experiments), CountingRules.of(project), scope.newest_seq, scope.now
        )

    def to_recount(self, project: Project, experiment_ids: Collection[str] | None) -> list[Due]:
        """List the open experiments of these ids, or all, for full counts."""
        return [
            replace(one, before=None)
            for one in self.open_ones(project)
            if experiment_ids is None or one.experiment.id in experiment_ids
        ]

    def open_ones(self, project: Project) -> list[Due]:
        """List the experiments that are counted here, and whose results still change."""
        experiments = self.catalog.experiments.of_project(project.id, with_holdouts=True)
        published = self._published(experiments)
        rules = CountingRules.of(project)
        return [
            Due(experiment=one, rules=rules_of(published[one.id], rules), before=published[one.id])
            for one in experiments
            if one.id in published and not (published[one.id].is_final or published[one.id].sums_from)
        ]

    def records(self, project_id: str) -> dict[str, Published]:
        """Return the records of a project's experiments, by id."""
        return self._published(self.catalog.experiments.of_project(project_id, with_holdouts=True))

    def _published(self, experiments: Iterable[Experiment]) -> dict[str, Published]:
        return self.publications.find_all([one.id for one in experiments])

    def _unsettled(self, project: Project, experiment_ids: Collection[str] | None) -> list[Experiment]:
        """List experiments that have started, without reading those whose results are settled."""
        started = self.catalog.experiments.started_ids(project.id)
        selected = [one for one in started if experiment_ids is None or one in experiment_ids]
        records = self.publications.find_all(selected)
        unsettled = [
            one for one in selected if one not in records or not is_settled(records[one], project.timezone)
        ]
        return self.catalog.experiments.with_ids(project.id, unsettled, with_holdouts=True)
