"""Nights of projects that import: the first full count after a night's imports, as it was then."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.jobs.jobs import rebuild_after_midnight
from pipeline.results.filters import InvalidFilterError
from pipeline.results.nights import Nights as KeptNights
from pipeline.store.catalog.runs.run_record import Kind, Run, Trigger
from tests.pipeline.working_store import WorkingStore, a_working_store

DAY = timedelta(days=1)
SOURCE = """
kind = "exposures"
location = "{name}.csv"
experiment = "Button"
[columns]
visitor = "user"
timestamp = "at"
variant = "arm"
[[experiments]]
name = "Button"
control = "old"
goals = [{{ name = "Order", goal_type = "custom_event", config = {{ event_name = "order" }} }}]
"""


@dataclass(slots=True)
class Nights:
    """A project that imports, in the time of a clock that is set by hand."""

    store: WorkingStore
    project: Project
    folder: Path
    clock: list[datetime]

    def at(self, day: int, hour: int, minute: int = 0) -> None:
        """Set the clock to a time of a day, of which 0 is the first whole one."""
        self.clock[0] = datetime.combine(self.day(day), time(hour, minute), UTC)

    def day(self, number: int) -> date:
        return utc_now().date() + (number + 1) * DAY

    def import_more(self, name: str, visitors: int) -> None:
        """Let further visitors come, and import their source."""
        (self.folder / f"{name}.toml").write_text(SOURCE.format(name=name))
        file = self.folder / f"{name}.csv"
        known = file.read_text().splitlines() if file.exists() else ["user,at,arm"]
        at = (utc_now() - timedelta(hours=2)).isoformat()
        rows = [
            f"{name}-{one},{at},{'new' if one % 2 else 'old'}"
            for one in range(len(known), len(known) + visitors)
        ]
        file.write_text("\n".join([*known, *rows, ""]))
        assert self._run("import", source=name) is None

    def fail_to_import(self, name: str) -> None:
        (self.folder / f"{name}.csv").write_text("nothing\n")
        assert self._run("import", source=name) is not None

    def rebuild(self, trigger: Trigger = "command_line", **parameters: object) -> None:
        assert self._run("rebuild", trigger, **parameters) is None

    def _run(self, kind: Kind, trigger: Trigger = "api", **parameters: object) -> Exception | None:
        run = Run(
            project_id=self.project.id,
            kind=kind,
            trigger=trigger,
            parameters=parameters,
            created_at=self.clock[0],
        )
        return self.store.runner.carry_out(run).error

    def poll(self) -> None:
        """Let the job of nights look for what is due."""
        assert rebuild_after_midnight(self.store) is False

    @property
    def kept(self) -> dict[int, int]:
        """Visitors of each kept night, by the number of its day."""
        (experiment,) = self.store.catalog.experiments.of_project(self.project.id)
        found = {}
        for number in range(10):
            try:
                night = self.store.nights.find(experiment, self.project, self.day(number), now=self.clock[0])
            except InvalidFilterError:
                continue
            assert night.report.primary is not None
            found[number] = sum(one.visitors for one in night.report.primary.variants)
        return found

    def run_of(self, number: int) -> Run:
        (experiment,) = self.store.catalog.experiments.of_project(self.project.id)
        night = self.store.nights.find(experiment, self.project, self.day(number), now=self.clock[0])
        return self.store.catalog.runs.get(self.project.id, str(night.run_id))


@pytest.fixture
def nights(tmp_path: Path) -> Iterator[Nights]:
    clock = [utc_now()]
    with a_working_store(tmp_path, clock=lambda: clock[0]) as store:
        project = store.add_project(created_at=clock[0])
        folder = tmp_path / "sources"
        folder.mkdir()
        yield Nights(store, project, folder, clock)


def test_a_night_is_what_is_published_first_after_its_imports(nights: Nights) -> None:
    nights.at(0, 3)
    nights.import_more("shop", 10)
    nights.poll()
    assert nights.kept == {0: 10}
    for hour in (0, 2):
        nights.at(1, hour, 1)
        nights.poll()
    assert nights.kept == {0: 10}
    nights.at(1, 3)
    nights.import_more("shop", 10)
    nights.poll()
    assert nights.kept == {0: 10, 1: 20}
    assert (nights.run_of(1).kind, nights.run_of(1).trigger) == ("rebuild", "schedule")
    assert nights.run_of(0).result["reason"] == "first"
    assert nights.run_of(1).result["reason"] == "changes"
    # Later imports are in the next night, which has imports of its own.
    nights.at(1, 14)
    nights.import_more("shop", 5)
    nights.poll()
    nights.rebuild()
    nights.at(2, 0, 1)
    nights.poll()
    assert nights.kept == {0: 10, 1: 20}
    nights.at(2, 3)
    nights.import_more("shop", 1)
    nights.poll()
    assert nights.kept == {0: 10, 1: 20, 2: 26}


def test_a_night_waits_for_each_source_and_not_beyond_noon(nights: Nights) -> None:
    for name in ("shop-1", "shop-2"):
        nights.at(0, 3)
        nights.import_more(name, 10)
    nights.poll()
    nights.at(1, 3)
    nights.import_more("shop-1", 10)
    nights.poll()
    assert nights.kept == {0: 20}
    nights.fail_to_import("shop-2")
    nights.at(1, 11, 59)
    nights.poll()
    assert nights.kept == {0: 20}
    nights.at(1, 12)
    nights.poll()
    assert nights.kept == {0: 20, 1: 30}


def test_a_full_count_after_the_imports_makes_the_night_whatever_asked_for_it(nights: Nights) -> None:
    nights.at(0, 3)
    nights.import_more("shop", 10)
    nights.rebuild()
    assert nights.run_of(0).trigger == "command_line"
    nights.at(1, 1)
    nights.rebuild()
    assert nights.kept == {0: 10}
    nights.at(1, 3)
    nights.import_more("shop", 10)
    nights.rebuild(days={"from": nights.day(0).isoformat(), "to": nights.day(1).isoformat()})
    assert nights.kept == {0: 10}
    nights.rebuild("api")
    nights.poll()
    assert nights.kept == {0: 10, 1: 20}
    assert (nights.run_of(1).trigger, nights.run_of(1).result["reason"]) == ("api", "asked")
    nights.at(2, 3)
    nights.import_more("shop", 1)
    nights.rebuild("api", night=True)
    assert (nights.kept[2], nights.run_of(2).result["count"]) == (21, "checked")


def test_nights_without_the_service_are_made_before_the_imports_of_the_present_one(nights: Nights) -> None:
    nights.at(0, 3)
    nights.import_more("shop", 10)
    nights.poll()
    nights.at(1, 3)
    nights.import_more("shop", 10)
    nights.poll()
    nights.at(4, 1)
    nights.poll()
    assert nights.kept == {0: 10, 1: 20, 2: 20, 3: 20}
    nights.at(4, 3)
    nights.import_more("shop", 10)
    nights.poll()
    assert nights.kept == {0: 10, 1: 20, 2: 20, 3: 20, 4: 30}


def test_no_person_is_erased_between_the_report_of_a_night_and_its_keeping(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, were_held = KeptNights.keep, list[bool]()

    def noted(*arguments: Any, **named: Any) -> None:
        were_held.append(nights.store.erasing.locked())
        keep(*arguments, **named)

    monkeypatch.setattr(KeptNights, "keep", noted)
    nights.at(0, 3)
    nights.import_more("shop", 10)
    nights.poll()
    assert nights.kept == {0: 10}
    assert were_held == [True]
    assert not nights.store.erasing.locked()
