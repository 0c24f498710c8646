"""Exposures that do not count: of new visitors while an experiment takes none, or outside its traffic.

While a holdout is in force, neither do those of visitors who are held out to what it covers, nor those of the
holdout itself that name another variant than the visitor's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from engine.design.assignment import Exclusion, exclusion_by, exclusion_of
from engine.design.experiment import Experiment
from engine.design.holdout import HELD, OTHER_VARIANT, SEEN, exclusion_by_places, place_in
from engine.design.units import NO_UNIT
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.link_index import UserClaim
from pipeline.assignment.project_cache import CachedProject, rule_of
from pipeline.assignment.unit_keys import key_of_row, unit_of_row
from pipeline.events.decode import DecodedEvents
from pipeline.events.rejections import NOT_COUNTED, EventResult
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.event_columns import EventRow

_PAUSED: Final = "paused"


def find_excluded(events: DecodedEvents, cached: CachedProject) -> dict[int, Exclusion]:
    """Map the positions of exposures in `events.rows` to why a new visitor would not count there.

    A holdout in force may exclude any of them: only what is known of the visitor tells.
    """
    if not (cached.limited_experiments or cached.unserved or cached.holdouts):
        return {}
    possible = HELD if cached.holdouts else None
    return {
        position: exclusion
        for position, row in enumerate(events.rows)
        if row.type == "exposure" and (exclusion := _exclusion(row, cached) or possible)
    }


def _exclusion(row: EventRow, cached: CachedProject) -> Exclusion | None:
    experiment_id = row.experiment_id or ""
    if unserved := cached.unserved.get(experiment_id):
        return exclusion_by(unserved.status)
    experiment = cached.limited_experiments.get(experiment_id)
    return None if experiment is None else _exclusion_from(experiment, row)


def _exclusion_from(experiment: Experiment, row: EventRow) -> Exclusion | None:
    """Return why an experiment would not take the unit of an event; None where this one tells no unit.

    The rollup finds that of an earlier `init`, or leaves the visitor out.
    """
    exclusion = exclusion_of(experiment, unit_of_row(experiment.unit, row))
    return None if exclusion is None or exclusion.code == NO_UNIT else exclusion


@dataclass(frozen=True, slots=True)
class ExposureFilter:
    """Filter of exposures, safe to share between threads."""

    catalog: Catalog
    first_assignments: FirstAssignments

    def mark_not_counted(
        self, events: DecodedEvents, found: dict[int, Exclusion], cached: CachedProject
    ) -> DecodedEvents:
        """Mark those of the exposures `found` by `find_excluded` that do not count."""
        return marked(events, self.excluded({place: events.rows[place] for place in found}, cached))

    def excluded(self, exposures: Mapping[int, EventRow], cached: CachedProject) -> dict[int, Exclusion]:
        """Map the positions of exposures that do not count to the reasons.

        Each experiment is read again, since another process may have started it a moment ago. A visitor of a
        paused experiment who was exposed before counts, and so does one outside the traffic with an
        assignment from before.
        """
        project_id = cached.project.id
        named = {str(row.experiment_id) for row in exposures.values()}
        limited = [one for one in named if one in cached.limited_experiments or one in cached.unserved]
        current = {
            one.id: one for one in self.catalog.experiments.with_ids(project_id, limited, with_holdouts=True)
        }
        excluded: dict[int, Exclusion] = {}
        for position, row in exposures.items():
            experiment_id = str(row.experiment_id)
            # One that was deleted a moment ago is as it was.
            experiment = current.get(experiment_id) or cached.limited_experiments.get(experiment_id)
            if cached.holdouts and (exclusion := self._excluded_by_holdouts(row, experiment, cached)):
                excluded[position] = exclusion
                continue
            exclusion = _exclusion_from(experiment, row) if experiment else _exclusion(row, cached)
            if exclusion and not (experiment and self._is_known(project_id, experiment, row)):
                excluded[position] = exclusion
        return excluded

    def _excluded_by_holdouts(
        self, row: EventRow, experiment: Experiment | None, cached: CachedProject
    ) -> Exclusion | None:
        """Return why the holdouts in force leave an exposure out, of a test or of one of themselves.

        `experiment` is None of a test that takes everybody, and so has no group, and of a holdout.
        """
        rules = [rule for rule in cached.rules if rule.is_holdout]
        claim = None
        if row.user_key is not None:
            claim = UserClaim(row.user_key, is_trusted=row.sender == "server")
        known = self.first_assignments.of_visitor(
            cached.project.id, rules, row.visitor_key, claim, are_all=False
        )
        places = {
            one.id: place_in(one, row.visitor_id or "", known.variant_ids.get(one.id))
            for one in cached.holdouts
        }
        own = places.get(row.experiment_id or "")
        if own is None:
            return exclusion_by_places(places.values(), None if experiment is None else experiment.group)
        if own.variant is None:
            return SEEN
        return None if own.variant.id == row.variant_id else OTHER_VARIANT

    def _is_known(self, project_id: str, experiment: Experiment, row: EventRow) -> bool:
        """Return whether a visitor or unit stays, which the experiment would not take as a new one."""
        rule, key = rule_of(experiment), key_of_row(experiment.unit, row)
        if rule is None or key is None:
            return False
        if experiment.status == _PAUSED:
            return self.first_assignments.is_exposed(project_id, rule, key)
        known = self.first_assignments.of_visitor(
            project_id, [rule], row.visitor_key, units={experiment.id: key}, are_all=False
        )
        return experiment.id in known.variant_ids


def marked(events: DecodedEvents, excluded: Mapping[int, Exclusion]) -> DecodedEvents:
    """Mark the exposures at the positions of `excluded`, and say so in their results."""
    rows = [
        row._replace(not_counted=excluded[position].code) if position in excluded else row
        for position, row in enumerate(events.rows)
    ]
    return DecodedEvents(rows, list(_results(events.results, excluded)))


def _results(results: list[EventResult], excluded: Mapping[int, Exclusion]) -> Iterator[EventResult]:
    """Yield the results; those that are not rejected belong to the rows, in order."""
    position = 0
    for result in results:
        if result.status == "rejected":
            yield result
            continue
        exclusion = excluded.get(position)
        position += 1
        yield (
            result if exclusion is None else EventResult(result.event_id, "ok", NOT_COUNTED, exclusion.reason)
        )
