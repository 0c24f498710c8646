"""Experiments of a project that share rules and their end, and are counted at once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.rollup.counting_rules import CountingRules, period_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedGroup:
    """Experiments that are counted at once: by `rules`, from events received up to `received_until` (µs)."""

    experiments: tuple[Experiment, ...]
    rules: CountingRules
    received_until: int


def group_experiments(project: Project, experiments: Sequence[Experiment]) -> list[CountedGroup]:
    """Group the experiments that have started, by their end."""
    groups: dict[int, list[Experiment]] = defaultdict(list)
    for experiment in experiments:
        if experiment.started_at is not None:
            groups[period_of(experiment)[1]].append(experiment)
    rules = CountingRules.of(project)
    return [
        CountedGroup(experiments=tuple(group), rules=rules, received_until=last)
        for last, group in sorted(groups.items())
    ]
