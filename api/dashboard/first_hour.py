"""First hour of an account: its steps, from a project to a started experiment."""

from dataclasses import dataclass

from engine.design.lifecycle import UNSTARTED
from engine.design.project import Project
from pipeline.store.catalog.catalog import Catalog


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A step of the first hour."""

    label: str
    more: str
    address: str
    is_done: bool


def first_steps(catalog: Catalog, project: Project | None) -> list[FirstStep]:
    """List the steps of the first hour; those of a project once there is one."""
    home = f"/projects/{project.id}" if project else "/projects/new"
    statuses = {status for status, _ in catalog.experiment_listings.counts(project.id)} if project else set()
    inner = home if project else "/projects/new"
    return [
        FirstStep(
            "Create a project",
            "A site, its time zone and its currency.",
            "/projects/new",
            project is not None,
        ),
        FirstStep(
            "Connect the site",
            "One line of code; the page says when the first visitor is seen.",
            f"{inner}/installation" if project else inner,
            project is not None and project.snippet_verified,
        ),
        FirstStep(
            "Draft an experiment",
            "Two variants and the goal that decides; the draft says how long it takes.",
            f"{inner}/experiments/new" if project else inner,
            bool(statuses),
        ),
        FirstStep(
            "Start it",
            "Visitors are assigned at once, and results are shown here.",
            f"{inner}?status=drafts" if project else inner,
            bool(statuses - set(UNSTARTED)),
        ),
    ]
