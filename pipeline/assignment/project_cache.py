"""Cache of projects with their experiments, so that a request needs no query.

A change made by this process takes effect at once, one made by another within a second.
Only what changed is read anew, and only experiments that assign are validated.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Literal, TypeAlias

from engine.design.experiment import Experiment
from engine.design.holdout import SEEN_BEFORE
from engine.design.project import Project
from engine.design.targeting.evaluation import Targeting, compile_targeting
from engine.local_days import epoch_microseconds
from pipeline.assignment.decide import SERVED
from pipeline.events.project_ids import ExperimentIds, ProjectIds
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.experiment_changes import UNREAD, ExperimentChanges, ExperimentOutline
from pipeline.store.documents import value_from
from pipeline.store.warehouse.visitor_history import AssignmentRule

MAX_AGE_SECONDS: Final = 1.0
# One request has a project that is in use loaded anew meanwhile, so that none waits for it.
REFRESH_SECONDS: Final = 0.75
# Beyond this many projects in use at once, the cache starts anew.
MAX_PROJECTS: Final = 10_000
ALL_TRAFFIC: Final = 100
_ENDED: Final = frozenset({"completed", "archived"})
_BEFORE_START: Final = frozenset({"draft", "scheduled"})

# Of a value by which a project is found.
Kind: TypeAlias = Literal["id", "key"]

logger = logging.getLogger(__name__)


def rule_of(experiment: Experiment) -> AssignmentRule | None:
    """Return the rule of an experiment's first assignments; None where it has not started, or has ended."""
    if experiment.status not in SERVED or experiment.started_at is None:
        return None
    variant_ids = tuple(variant.id for variant in experiment.variants)
    started_us = epoch_microseconds(experiment.started_at)
    if experiment.is_holdout:
        return AssignmentRule(experiment.id, started_us, (*variant_ids, SEEN_BEFORE), is_holdout=True)
    return AssignmentRule(experiment.id, started_us, variant_ids, experiment.unit)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class CachedProject:
    """A project with its account, the experiments that assign, and the rollouts; equal to itself alone.

    All oldest first.
    """

    project: Project
    account: Account
    # Running and paused ones.
    experiments: tuple[Experiment, ...]
    # Ended ones, of which everybody gets the shipped variant.
    rollouts: tuple[Experiment, ...]
    # All but those that assign by id, oldest first.
    unserved: Mapping[str, ExperimentOutline]
    ids: ProjectIds
    # Those in force: one of the project, and one of each exclusion group, at most.
    holdouts: tuple[Experiment, ...]
    # Of each experiment that assigns, and of each holdout.
    rules: tuple[AssignmentRule, ...]
    # By id, those that assign in which not every exposure counts: paused, of a group, or with less traffic.
    limited_experiments: Mapping[str, Experiment]
    # Whether an exposure may count, now or later.
    has_open_experiments: bool
    excluded_networks: tuple[IPv4Network | IPv6Network, ...]
    # Of its experiments: what a decision on all of them, and its answer, have to go through at most.
    parts: int
    # By the id of each experiment whose targeting was asked for.
    _targeting: dict[str, Targeting] = field(default_factory=dict, init=False, repr=False)
    # By id, experiments before their start that a request forced a variant of; None where that cannot be.
    _before_start: dict[str, Experiment | None] = field(default_factory=dict, init=False, repr=False)

    def targeting_of(self, experiment: Experiment) -> Targeting:
        """Return the targeting of an experiment of the project, compiled once."""
        known = self._targeting.get(experiment.id)
        return known or self._targeting.setdefault(
            experiment.id, compile_targeting(experiment.targeting_rules)
        )

    def forced_before_start(self, names: Collection[str], catalog: Catalog) -> tuple[Experiment, ...]:
        """Return the experiments before their start with one of these ids or test keys, each read once."""
        named = [
            one.id
            for one in self.unserved.values()
            if one.status in _BEFORE_START and (one.id in names or one.test_key in names)
        ]
        if unread := [one for one in named if one not in self._before_start]:
            read = {one.id: one for one in catalog.experiments.with_ids(self.project.id, unread)}
            for experiment_id in unread:
                found = read.get(experiment_id)
                # One that was started meanwhile assigns, which needs its first assignments.
                is_before = found is not None and found.status in _BEFORE_START
                self._before_start[experiment_id] = found if is_before else None
        return tuple(one for name in named if (one := self._before_start[name]) is not None)

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
class _Content:
    """What is known of a project's experiments, up to a version."""

    version: int = UNREAD
    outlines: dict[str, ExperimentOutline] = field(default_factory=dict)
    ids: dict[str, ExperimentIds] = field(default_factory=dict)
    served: dict[str, Experiment] = field(default_factory=dict)
    cached: CachedProject | None = None

    def take(self, changes: ExperimentChanges) -> None:
        """Take over changes; only experiments that are shown are validated."""
        for one in changes.written:
            outline = one.outline
            self.outlines[outline.id] = outline
            self.ids[outline.id] = ExperimentIds.of(outline)
            self.served.pop(outline.id, None)
            if outline.status in SERVED or outline.is_rolled_out:
                self.served[outline.id] = value_from(one.document, Experiment)
        for experiment_id in changes.deleted:
            for known in (self.outlines, self.ids, self.served):
                known.pop(experiment_id, None)
        self.outlines = dict(sorted(self.outlines.items(), key=_age))
        self.version, self.cached = changes.version, None

    def of(self, project: Project, account: Account) -> CachedProject:
        """Return the project with its experiments: the one of before where nothing has changed."""
        cached = self.cached
        if cached is None or cached.project != project or cached.account != account:
            cached = self.cached = self._build(project, account)
        return cached

    def _build(self, project: Project, account: Account) -> CachedProject:
        found = [self.served[one] for one in self.outlines if one in self.served]
        served = [one for one in found if not one.is_holdout]
        holdouts = tuple(one for one in found if one.is_holdout)
        experiments = tuple(one for one in served if one.status in SERVED)
        ruled = (*experiments, *holdouts)
        assigning = {one.id for one in ruled}
        return CachedProject(
            project=project,
            account=account,
            experiments=experiments,
            rollouts=tuple(one for one in served if one.id not in assigning),
            unserved={one.id: one for one in self.outlines.values() if one.id not in assigning},
            ids=ProjectIds.together(self.ids.values(), project),
            holdouts=holdouts,
            rules=tuple(rule for one in ruled if (rule := rule_of(one))),
            has_open_experiments=any(one.status not in _ENDED for one in self.outlines.values()),
            limited_experiments={
                one.id: one
                for one in experiments
                if one.status != "running" or one.traffic_allocation < ALL_TRAFFIC or one.group_slots
            },
            excluded_networks=tuple(
                ip_network(address, strict=False) for address in project.settings.get("excluded_ips") or ()
            ),
            parts=sum(map(_parts_of, served)),
        )


@dataclass(slots=True)
class ProjectCache:
    """A cache by project id and by public key, safe to share between threads."""

    catalog: Catalog
    clock: Callable[[], float] = time.monotonic
    _entries: dict[tuple[str, str], _Entry] = field(default_factory=dict)
    _contents: dict[str, _Content] = field(default_factory=dict)
    _loading: threading.Lock = field(default_factory=threading.Lock)
    _refreshing: set[tuple[str, str]] = field(default_factory=set)

    def fresh(self, kind: Kind, value: str) -> CachedProject | None:
        """Return a project that is fresh enough to use; None where it has to be loaded."""
        entry = self._entries.get((kind, value))
        if entry is None or entry.version != self.catalog.database.version:
            return None
        return entry.project if self.clock() - entry.loaded_at < MAX_AGE_SECONDS else None

    def take_refresh(self, kind: Kind, value: str) -> bool:
        """Return whether a project is soon too old, so that the caller has to `refresh` it; one is told."""
        key = (kind, value)
        entry = self._entries.get(key)
        if entry is None or key in self._refreshing or self.clock() - entry.loaded_at < REFRESH_SECONDS:
            return False
        self._refreshing.add(key)
        return True

    def refresh(self, kind: Kind, value: str) -> None:
        """Load a project anew while it is in use; what fails is told to the next who waits for a load."""
        try:
            with self._loading:
                self._load(kind, value)
        except Exception as error:  # noqa: BLE001 - as above
            logger.debug("a project was not loaded ahead: %s", error)
        finally:
            self._refreshing.discard((kind, value))

    def with_id(self, project_id: str) -> CachedProject:
        """Return the project of an id, loading it where it is not fresh; NotFoundError."""
        return self._loaded("id", project_id)

    def with_key(self, sdk_key: str) -> CachedProject:
        """Return the project of a public key, loading it where it is not fresh; NotFoundError."""
        return self._loaded("key", sdk_key)

    def _loaded(self, kind: Kind, value: str) -> CachedProject:
        # Threads that wait here find what the first one has loaded.
        with self._loading:
            return self.fresh(kind, value) or self._load(kind, value)

    def _load(self, kind: Kind, value: str) -> CachedProject:
        loaded_at, version = self.clock(), self.catalog.database.version
        projects = self.catalog.projects
        project = self._read(projects.find(value) if kind == "id" else projects.by_sdk_key(value))
        if len(self._entries) >= MAX_PROJECTS:
            self._entries.clear()
            self._contents.clear()
        self._entries[kind, value] = _Entry(project, loaded_at, version)
        return project

    def _read(self, project: Project) -> CachedProject:
        account = self.catalog.accounts.get(project.account_id)
        content = self._contents.get(project.id) or _Content()
        changes = self.catalog.experiments.changes(project.id, content.version, content.outlines.keys())
        if changes.version != content.version:
            content.take(changes)
        # Only what was taken over as a whole is kept.
        self._contents[project.id] = content
        return content.of(project, account)


def _age(item: tuple[str, ExperimentOutline]) -> tuple[datetime, str]:
    return item[1].created_at, item[0]


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
