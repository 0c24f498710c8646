"""Cache of projects with their experiments, so that a request needs no query.

A change made by the process that `version` counts takes effect at once, one made by another within a second.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Literal

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.targeting.evaluation import Targeting, compile_targeting
from engine.local_days import epoch_microseconds
from pipeline.assignment.decide import SERVED
from pipeline.events.project_ids import ProjectIds
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse.visitor_history import AssignmentRule

MAX_AGE_SECONDS: Final = 1.0
# Beyond this many projects in use at once, the cache starts anew.
MAX_PROJECTS: Final = 10_000
ALL_TRAFFIC: Final = 100
_ENDED: Final = frozenset({"completed", "archived"})


def rule_of(experiment: Experiment) -> AssignmentRule | None:
    """Return the rule of an experiment's first assignments; None where it has not started, or has ended."""
    if experiment.status not in SERVED or experiment.started_at is None:
        return None
    variant_ids = tuple(variant.id for variant in experiment.variants)
    started_us = epoch_microseconds(experiment.started_at)
    return AssignmentRule(experiment.id, started_us, variant_ids, experiment.unit)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class CachedProject:
    """A project with its account and all of its experiments, oldest first; equal to itself alone."""

    project: Project
    account: Account
    experiments: tuple[Experiment, ...]
    ids: ProjectIds
    # Of each experiment that assigns: running or paused.
    rules: tuple[AssignmentRule, ...]
    # By id, those in which not every exposure counts: not running, or with less than all traffic.
    limited_experiments: Mapping[str, Experiment]
    # Whether an exposure may count, now or later.
    has_open_experiments: bool
    excluded_networks: tuple[IPv4Network | IPv6Network, ...]
    # Of its experiments: what a decision on all of them, and its answer, have to go through at most.
    parts: int
    # By the id of each experiment whose targeting was asked for.
    _targeting: dict[str, Targeting] = field(default_factory=dict, init=False, repr=False)

    def targeting_of(self, experiment: Experiment) -> Targeting:
        """Return the targeting of an experiment of the project, compiled once."""
        known = self._targeting.get(experiment.id)
        return known or self._targeting.setdefault(
            experiment.id, compile_targeting(experiment.targeting_rules)
        )

    def excludes(self, address: str | None) -> bool:
        """Return whether events from a network address are not stored."""
        if not self.excluded_networks or address is None:
            return False
        try:
            caller = ip_address(address)
        except ValueError:
            return False
        return any(caller in network for network in self.excluded_networks)


@dataclass(frozen=True, slots=True)
class _Entry:
    project: CachedProject
    loaded_at: float
    version: int


@dataclass(slots=True)
class ProjectCache:
    """A cache by project id and by public key, safe to share between threads."""

    catalog: Catalog
    clock: Callable[[], float] = time.monotonic
    # Of the catalog, as the process counts it that makes most changes; this process by default.
    version: Callable[[], int] | None = None
    _entries: dict[tuple[str, str], _Entry] = field(default_factory=dict)
    _loading: threading.Lock = field(default_factory=threading.Lock)

    def fresh(self, kind: Literal["id", "key"], value: str) -> CachedProject | None:
        """Return a project that is fresh enough to use; None where it has to be loaded."""
        entry = self._entries.get((kind, value))
        if entry is None or entry.version != self._version():
            return None
        return entry.project if self.clock() - entry.loaded_at < MAX_AGE_SECONDS else None

    def with_id(self, project_id: str) -> CachedProject:
        """Return the project of an id, loading it where it is not fresh; NotFoundError."""
        return self._load("id", project_id, self.catalog.projects.find)

    def with_key(self, sdk_key: str) -> CachedProject:
        """Return the project of a public key, loading it where it is not fresh; NotFoundError."""
        return self._load("key", sdk_key, self.catalog.projects.by_sdk_key)

    def _version(self) -> int:
        return self.catalog.database.version if self.version is None else self.version()

    def _load(self, kind: Literal["id", "key"], value: str, find: Callable[[str], Project]) -> CachedProject:
        # Threads that wait here find what the first one has loaded.
        with self._loading:
            if (project := self.fresh(kind, value)) is not None:
                return project
            loaded_at, version = self.clock(), self._version()
            project = self._read(find(value))
            if len(self._entries) >= MAX_PROJECTS:
                self._entries.clear()
            self._entries[kind, value] = _Entry(project, loaded_at, version)
            return project

    def _read(self, project: Project) -> CachedProject:
        experiments = tuple(self.catalog.experiments.of_project(project.id))
        return CachedProject(
            project=project,
            account=self.catalog.accounts.get(project.account_id),
            experiments=experiments,
            ids=ProjectIds.of(experiments, project),
            rules=tuple(rule for one in experiments if (rule := rule_of(one))),
            has_open_experiments=any(one.status not in _ENDED for one in experiments),
            limited_experiments={
                one.id: one
                for one in experiments
                if one.status != "running" or one.traffic_allocation < ALL_TRAFFIC
            },
            excluded_networks=tuple(
                ip_network(address, strict=False) for address in project.settings.get("excluded_ips") or ()
            ),
            parts=sum(map(_parts_of, experiments)),
        )


def _parts_of(experiment: Experiment) -> int:
    """Count an experiment with its goals, changes, rules of pages, conditions and their values."""
    waiting, count = [experiment.targeting_rules["root"]], 1
    while waiting:
        node = waiting.pop()
        children = node.get("children", ())
        waiting.extend(children)
        count += len(children) + len(node.get("values", ()))
    changes = sum(len(variant.changes) for variant in experiment.variants)
    return count + changes + len(experiment.goals) + len(experiment.url_rules)
