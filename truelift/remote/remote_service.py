"""Remote service: experiments, verdicts, results, segments and days over REST, as reports and frames."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from engine.analysis.results.answer_reading import read_record
from engine.analysis.results.kept_verdict import ExperimentChange, KeptVerdict
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.display.plain_data import plain_data
from engine.validation.named_records import find_named
from truelift.remote.answered_reports import report_of, segment_report_of
from truelift.remote.rest_reader import RestReader
from truelift.remote.result_frames import (
    Library,
    columns_of,
    day_rows,
    frame_maker,
    result_rows,
    segment_rows,
)

# Experiments that a list leaves out unless they are asked for.
_ARCHIVED: Final = "archived"
_MOST_VERDICTS: Final = 500
_TIMES: Final = ("scheduled_start_at", "started_at", "completed_at", "created_at", "updated_at")


def connect(
    url: str,
    key: str,
    *,
    project: str | None = None,
    frames: Library = "polars",
    timeout_seconds: float = 60.0,
) -> "RemoteService":
    """Connect to a service to read its results: no file of it is needed.

    `key` is an API key with the scopes `results:read` and `experiments:read`, and `projects:read` unless
    `project`, the id of one, is given. `frames` is the library of the frames. Nothing is asked before the
    first read. ValueError for an argument that cannot be right, ModuleNotFoundError for pandas where it is
    not installed.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        raise ValueError("url must be the address of the service, such as https://ab.shop.example")
    if not key or key.startswith("pk_") or not key.isascii() or not key.isprintable():
        raise ValueError("key must be an API key with the scope results:read; pk_… is the public one")
    http = httpx2.Client(
        base_url=f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}",
        headers={"Authorization": f"Bearer {key}"},
        timeout=timeout_seconds,
    )
    return RemoteService(RestReader(http), url, project=project, frames=frames)


@dataclass(frozen=True, slots=True)
class _Listed:
    """An experiment as lists of verdicts show it."""

    answer: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.answer["id"])

    @property
    def name(self) -> str:
        return str(self.answer["name"])

    @property
    def path(self) -> str:
        return f"/projects/{self.answer['project_id']}/experiments/{self.id}"


class RemoteService:
    """A service whose results are read over REST; experiments are given by name or id.

    Numbers are those of the API, in the units of reports: shares in the place of percents, which have two
    decimals there, and minor units of money. Methods raise RemoteError where the service does not answer or
    refuses, and KeyError for an experiment that the key does not reach. A rate limit is waited for, as long
    as the service asks for; so is a service that restarts.
    """

    def __init__(
        self, reader: RestReader, url: str, *, project: str | None = None, frames: Library = "polars"
    ) -> None:
        """Read with `reader`; of one project, or of all that the key reaches."""
        self._reader = reader
        self._url = url
        self._project = project
        self._frame = frame_maker(frames)

    def __repr__(self) -> str:
        """Name the address and the project, and never the key."""
        return f"<RemoteService {self._url}{f', project {self._project}' if self._project else ''}>"

    def experiments(self) -> Any:  # noqa: ANN401 - a frame of Polars or pandas
        """Return a frame with a row an experiment: settings, status and times, archived ones at the end."""
        statuses = (None, _ARCHIVED)
        return self._frame(
            {"project_id": project} | _with_times(one) | {"unit": _unit_name(one["unit"])}
            for project in self._project_ids()
            for status in statuses
            for one in self._reader.read_pages(
                f"/projects/{project}/experiments", status=status, sort="-created_at"
            )
        )

    def verdicts(self) -> Any:  # noqa: ANN401 - a frame of Polars or pandas
        """Return a frame with a row an experiment: verdict as last counted, lift, plan, recent changes."""
        return self._frame(_verdict_row(one.answer) for one in self._listed())

    def report(
        self,
        experiment: str,
        *,
        as_of: date | None = None,
        first_day: date | None = None,
        last_day: date | None = None,
        **segment: str,
    ) -> Report:
        """Read the report of an experiment, with all that those of `truelift.analyze` have.

        `as_of` reads what was published after the night of that day. `segment` filters by attributes at the
        first exposure, such as `device_type="mobile"`; ValueError for one that is no filter. `first_day` and
        `last_day` bound the local day of that exposure: an exploratory look. `chart_lift` lacks the band that
        holds at every look.
        """
        listed = self._find(experiment)
        days_asked = {"as_of": as_of, "from": first_day, "to": last_day}
        query: dict[str, str | None] = {**segment}
        query |= {name: None if day is None else day.isoformat() for name, day in days_asked.items()}
        detail = self._reader.read(listed.path)
        results = self._reader.read(f"{listed.path}/results", **query)
        filtered = {**(results["active_segment"] or {}), **(results.get("active_days") or {})}
        if unknown := {name for name, value in query.items() if value and name != "as_of"} - filtered.keys():
            # The service would answer for all visitors.
            raise ValueError(f"results cannot be filtered by {', '.join(sorted(unknown))}")
        days = {
            goal["id"]: results["time_series"]
            if goal["is_primary"]
            else self._reader.read(f"{listed.path}/results/timeseries", goal_id=goal["id"], **query)
            for goal in results["goals"]
        }
        return report_of(listed.answer, detail, results, days)

    def segment_report(self, experiment: str) -> SegmentReport:
        """Read the effects in all segments, as `truelift.analyze_segments` returns them: exploratory."""
        listed = self._find(experiment)
        segments = self._reader.read(f"{listed.path}/results/segments")
        return segment_report_of(listed.answer, self._reader.read(listed.path), segments)

    def results(self, experiment: str, **chosen: Any) -> Any:  # noqa: ANN401 - a frame of Polars or pandas
        """Return a frame with a row a goal and variant, of every number; takes what `report` takes."""
        return self._frame(result_rows(self.report(experiment, **chosen)))

    def time_series(self, experiment: str, **chosen: Any) -> Any:  # noqa: ANN401 - a frame of Polars or pandas
        """Return a frame with a row a goal, day and variant, in local time; takes what `report` takes."""
        return self._frame(day_rows(self.report(experiment, **chosen)))

    def segments(self, experiment: str) -> Any:  # noqa: ANN401 - a frame of Polars or pandas
        """Return a frame with a row a goal, segment and variant; exploratory, as `segment_report`."""
        return self._frame(segment_rows(self.segment_report(experiment)))

    def _project_ids(self) -> list[str]:
        if self._project is not None:
            return [self._project]
        return [one["id"] for one in self._reader.read_pages("/projects")]

    def _listed(self) -> Iterator[_Listed]:
        of = "/account" if self._project is None else f"/projects/{self._project}"
        for status in (None, _ARCHIVED):
            for one in self._reader.read_pages(f"{of}/verdicts", _MOST_VERDICTS, status=status):
                yield _Listed(one)

    def _find(self, name: str) -> _Listed:
        missing = f"the key reaches no experiment {name!r}"
        return find_named(list(self._listed()), name, missing=missing)


def _unit_name(unit: str | dict[str, str]) -> str:
    """Name a unit: a column has one type."""
    return unit if isinstance(unit, str) else unit["attribute"]


def _with_times(answer: dict[str, Any]) -> dict[str, Any]:
    """Turn the times of an answer from text into times."""
    times = {name: answer[name] for name in _TIMES if name in answer}
    return answer | {name: text and datetime.fromisoformat(text) for name, text in times.items()}


def _verdict_row(answer: dict[str, Any]) -> dict[str, Any]:
    """Flatten an experiment with its verdict; numbers are None before the first count."""
    verdict = answer["verdict"]
    changes = [plain_data(read_record(ExperimentChange, one)) for one in answer["changes"]]
    counted = {} if verdict is None else columns_of(read_record(KeptVerdict, verdict))
    conclusion = answer["conclusion"] or {}
    return {
        **{
            name: value
            for name, value in _with_times(answer).items()
            if name not in {"verdict", "conclusion"}
        },
        "decision": conclusion.get("decision"),
        **counted,
        "changes": changes,
    }
