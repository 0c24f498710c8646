"""What a project looks like now, without a query for each request.

A change made by this process is seen at once, one made by another within a second.


Whether the snippet was seen at work on a project's own pages.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.events.decode import ProjectIds
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog

MAX_AGE_SECONDS: Final = 1.0
# Beyond this many projects in use at once, the cache starts anew.
MAX_PROJECTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class LiveProject:
    """A project with its account, and all of its experiments, oldest first."""

    project: Project
    account: Account
    experiments: tuple[Experiment, ...]
    known: ProjectIds
    excluded_networks: tuple[IPv4Network | IPv6Network, ...]

    def excludes(self, address: str | None) -> bool:
        """Whether events from this network address are not to be stored."""
        if not self.excluded_networks or address is None:
            return False
        try:
            caller = ip_address(address)
        except ValueError:
            return False
        return any(caller in network for network in self.excluded_networks)


@dataclass(frozen=True, slots=True)
class _Kept:
    live: LiveProject
    asked_at: float
    version: int


@dataclass(slots=True)
class LiveProjects:
    """A cache by project id and by public key; safe to share between threads."""

    catalog: Catalog
    clock: Callable[[], float] = time.monotonic
    _kept: dict[tuple[str, str], _Kept] = field(default_factory=dict)
    _loading: threading.Lock = field(default_factory=threading.Lock)

    def kept(self, kind: str, value: str) -> LiveProject | None:
        """Return what is fresh enough to use at once; None where it has to be loaded."""
        kept = self._kept.get((kind, value))
        if kept is None or kept.version != self.catalog.database.version:
            return None
        return kept.live if self.clock() - kept.asked_at < MAX_AGE_SECONDS else None

    def with_id(self, project_id: str) -> LiveProject:
        """The project of that id, loaded if need be. NotFoundError."""
        return self._load("id", project_id, self.catalog.projects.find)

    def with_key(self, sdk_key: str) -> LiveProject:
        """The project of that public key, loaded if need be. NotFoundError."""
        return self._load("key", sdk_key, self.catalog.projects.by_sdk_key)

    def _load(self, kind: str, value: str, find: Callable[[str], Project]) -> LiveProject:
        # One loads, and the others that came meanwhile find it here.
        with self._loading:
            if (live := self.kept(kind, value)) is not None:
                return live
            asked_at, version = self.clock(), self.catalog.database.version
            live = self._read(find(value))
            if len(self._kept) >= MAX_PROJECTS:
                self._kept.clear()
            self._kept[kind, value] = _Kept(live, asked_at, version)
            return live

    def _read(self, project: Project) -> LiveProject:
        experiments = tuple(self.catalog.experiments.of_project(project.id))
        return LiveProject(
            project=project,
            account=self.catalog.accounts.get(project.account_id),
            experiments=experiments,
            known=ProjectIds.of(experiments),
            excluded_networks=tuple(
                ip_network(address, strict=False) for address in project.settings.get("excluded_ips") or ()
            ),
        )


def is_own_page(project: Project, page: str | None) -> bool:
    """Whether a page's address or origin is on one of the project's hosts."""
    try:
        host = urlsplit(page or "").hostname or ""
    except ValueError:
        return False
    parents = {f"*.{host.partition('.')[2]}", f"*.{host}"}
    return host != "" and bool(project.hostnames & {host, *parents})


def verified(project: Project, *, now: datetime) -> Project:
    """The project, its snippet seen at work."""
    return project if project.snippet_verified else replace(project, snippet_verified=True, updated_at=now)
