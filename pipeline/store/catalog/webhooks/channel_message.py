"""Message to notification channels: a title, paragraphs and a page, without mark-up of any kind."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.design.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMessage:
    """What the channels of a project are told; `path` is that of a page of the dashboard.

    Texts are of the team and of its results: no message quotes a visitor's data.
    """

    event: str
    project_id: str
    project_name: str
    experiment_id: str | None = None
    title: str
    paragraphs: Sequence[str] = ()
    path: str

    @property
    def data(self) -> dict[str, Any]:
        """The message as JSON data, but for its event."""
        return {key: value for key, value in asdict(self).items() if key != "event"}


def project_message(event: str, project: Project, title: str, *paragraphs: str) -> ChannelMessage:
    """Build a message about a project, which leads to its list of experiments."""
    return ChannelMessage(
        event=event,
        project_id=project.id,
        project_name=project.name,
        title=title,
        paragraphs=paragraphs,
        path=f"/projects/{project.id}",
    )
