"""Verification of the snippet: a request from one of the project's own pages."""

from dataclasses import replace
from datetime import datetime
from urllib.parse import urlsplit

from engine.design.project import Project


def is_own_page(project: Project, page: str | None) -> bool:
    """Return whether the URL or origin of a page is on one of the project's hosts."""
    try:
        host = urlsplit(page or "").hostname or ""
    except ValueError:
        return False
    parents = {f"*.{host.partition('.')[2]}", f"*.{host}"}
    return host != "" and bool(project.hostnames & {host, *parents})


def verified(project: Project, *, now: datetime) -> Project:
    """Mark the project's snippet as verified."""
    return project if project.snippet_verified else replace(project, snippet_verified=True, updated_at=now)
