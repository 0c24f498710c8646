"""Which experiments are due for counting, and whether what is published of them can be carried on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from engine.design.experiment import Experiment
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.store.warehouse.published import Published

# Events that had arrived when an experiment completed are committed well within this time.
GRACE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """An experiment to count by `rules`; `before` is what to carry on from, None to count everything."""

    experiment: Experiment
    rules: CountingRules
    before: Published | None

    @property
    def covered_seq(self) -> int:
        """The number of the newest event that is counted already."""
        return self.before.covered_seq if self.before else 0


def find_due(
    experiments: Iterable[Experiment],
    published: Mapping[str, Published],
    rules: CountingRules,
    newest_seq: int,
    now: datetime,
) -> list[Due]:
    """Experiments with events that are not counted, counted by other rules than now, or over since."""
    started = (experiment for experiment in experiments if experiment.started_at is not None)
    found = (_due(experiment, published.get(experiment.id), rules) for experiment in started)
    return [
        due
        for due in found
        if due and (due.before is None or due.covered_seq < newest_seq or is_over(due.experiment, now))
    ]


def is_over(experiment: Experiment, now: datetime) -> bool:
    """Whether nothing that arrives from now on counts, nor anything that is still being written."""
    return experiment.completed_at is not None and now >= experiment.completed_at + GRACE


def _due(experiment: Experiment, published: Published | None, rules: CountingRules) -> Due | None:
    if published is None:
        return Due(experiment=experiment, rules=rules, before=None)
    if published.is_final:
        # What counted when it ended stays as it was; only its days follow the project's calendar.
        ended_under = CountingRules.from_json(published.rules)
        if ended_under.timezone == rules.timezone:
            return None
        rules = replace(ended_under, timezone=rules.timezone)
    is_same = published.fingerprint == fingerprint(experiment, rules)
    return Due(experiment=experiment, rules=rules, before=published if is_same else None)
