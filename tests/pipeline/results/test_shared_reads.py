"""Shared reads: one computation for a version, whoever asks, and none that outlives it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, count, repeat

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.results_version import ResultsVersion
from pipeline.results.shared_reads import SharedReads
from pipeline.store.warehouse.connection import Warehouse
from tests.builders import NOW, a_project, an_experiment
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

VERSION = ResultsVersion(
    experiment=an_experiment(status="running"),
    project=a_project(),
    newest_seq=1,
    publication=1,
    looks=0,
    local_day=NOW.date(),
    running_days=1,
    is_over=False,
)
NEWER = replace(VERSION, newest_seq=2)


def test_what_is_asked_at_once_is_computed_once() -> None:
    shared, numbers, all_ask = SharedReads[int](), count(1), threading.Barrier(4)

    def ask(_: int) -> int:
        all_ask.wait(60)
        return shared.get("q", lambda: VERSION, lambda: next(numbers))[0]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [1] * 4
    assert shared.get("another", lambda: VERSION, lambda: 2) == (2, False)


@pytest.mark.parametrize(
    ("versions", "then"),
    [
        ([VERSION], "first"),
        # Changed while it was computed, and not fresh at the start.
        ([VERSION, VERSION, NEWER], "second"),
        ([None, VERSION], "second"),
    ],
)
def test_a_read_is_kept_for_the_version_that_it_began_and_ended_with(
    versions: list[ResultsVersion | None], then: str
) -> None:
    shared, told = SharedReads[str](), chain(versions, repeat(versions[-1]))
    assert shared.get("q", lambda: next(told), lambda: "first") == ("first", False)
    assert shared.get("q", lambda: versions[-1], lambda: "second")[0] == then
    assert shared.get("q", lambda: replace(VERSION, looks=1), lambda: "third") == ("third", False)


def test_reads_that_were_asked_longest_ago_are_dropped() -> None:
    shared = SharedReads[int]()
    for number in range(17):
        shared.get(number, lambda: VERSION, lambda: 0)
        assert shared.get(0, lambda: VERSION, lambda: 1) == (0, True)
    assert shared.get(1, lambda: VERSION, lambda: 1) == (1, False)


def test_reports_of_a_publication_read_the_store_once(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(project, an_exposure(experiment), a_purchase())
    # Records the look that is due, which gives another version.
    store.results.report(experiment, project, now=NOW)
    first = store.results.shared_report(experiment, project, now=NOW)
    monkeypatch.setattr(Warehouse, "cursor", None)
    assert store.results.shared_report(experiment, project, now=NOW) is first
    # Another minute has a report of its own, of the same evidence.
    later = store.results.shared_report(experiment, project, now=NOW.replace(hour=NOW.hour + 1))
    assert later.as_of == NOW.replace(hour=NOW.hour + 1)
    assert later.goals == first.goals
