"""Experiments due for counting, with the published results to continue from."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from engine.design.experiment import Experiment
from pipeline.rollup.counting_rules import CountingRules, fingerprint, period_of
from pipeline.store.warehouse.published import SEALED, Published

# Events that had arrived when an experiment completed are committed well within this time.
GRACE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Experiment to count by `rules`, continuing from the results `before`; None for a full count."""

    experiment: Experiment
    rules: CountingRules
    before: Published | None

    @property
    def covered_seq(self) -> int:
        """Sequence number of the newest event that is counted already."""
        return self.before.covered_seq if self.before else 0


def find_due(
    experiments: Iterable[Experiment],
    published: Mapping[str, Published],
    rules: CountingRules,
    newest_seq: int,
    now: datetime,
) -> list[Due]:
    """Find experiments with uncounted events, changed rules, or an end that is not final yet."""
    started = (experiment for experiment in experiments if experiment.started_at is not None)
    candidates = (_due(experiment, published.get(experiment.id), rules) for experiment in started)
    return [
        due
        for due in candidates
        if due and (due.before is None or due.covered_seq < newest_seq or is_over(due.experiment, now))
    ]


def by_rules_and_end(due: Iterable[Due]) -> Mapping[tuple[CountingRules, int], list[Due]]:
    """Group experiments that one read of events counts."""
    groups: dict[tuple[CountingRules, int], list[Due]] = defaultdict(list)
    for one in due:
        # Visitors joined after the end stay apart: what arrives later never counts.
        _, last = period_of(one.experiment)
        groups[one.rules, last].append(one)
    return groups


def is_over(experiment: Experiment, now: datetime) -> bool:
    """Tell whether no further event can count, those still being written included."""
    return experiment.completed_at is not None and now >= experiment.completed_at + GRACE


def is_settled(published: Published, timezone: str) -> bool:
    """Tell whether results of a project in that time zone are never counted again by this service."""
    if published.sums_from is not None:
        return True
    if not published.is_final:
        return False
    return published.fingerprint == SEALED or CountingRules.from_json(published.rules).timezone == timezone


def rules_of(published: Published, rules: CountingRules) -> CountingRules:
    """Return the rules of a project for an experiment that was counted before: its rates stay its own."""
    return rules.with_rates_of(CountingRules.from_json(published.rules))


def _due(experiment: Experiment, published: Published | None, rules: CountingRules) -> Due | None:
    if published is None:
        return Due(experiment=experiment, rules=rules, before=None)
    if is_settled(published, rules.timezone):
        return None
    if published.is_final:
        # The rules in force at its end still hold; only its days follow the project's time zone.
        rules = replace(CountingRules.from_json(published.rules), timezone=rules.timezone)
    else:
        rules = rules_of(published, rules)
    is_same = published.fingerprint == fingerprint(experiment, rules)
    return Due(experiment=experiment, rules=rules, before=published if is_same else None)
