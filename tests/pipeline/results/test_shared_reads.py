"""Shared reads: one computation for a version, whoever asks, none that outlives it, in bounded memory."""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, repeat
from weakref import ref

import numpy as np
import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.measures.measure_table import MEASURES
from pipeline.results import shared_reads
from pipeline.results.results_version import ResultsVersion
from pipeline.results.shared_reads import SharedQuestion, SharedReads
from pipeline.store.warehouse.connection import Warehouse
from tests.builders import NOW
from tests.pipeline.results.versions import VERSION
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

NEWER = replace(VERSION, newest_seq=2)
ONE, ANOTHER = SharedQuestion("exp_1"), SharedQuestion("exp_2")


def test_what_is_asked_at_once_is_computed_once() -> None:
    shared, numbers, all_ask = SharedReads[int](), count(1), threading.Barrier(4)

    def ask(_: int) -> int:
        all_ask.wait(60)
        return shared.get(ONE, lambda: VERSION, lambda: next(numbers))[0]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [1] * 4
    assert shared.get(ANOTHER, lambda: VERSION, lambda: 2) == (2, False)


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
    assert shared.get(ONE, lambda: next(told), lambda: "first") == ("first", False)
    assert shared.get(ONE, lambda: versions[-1], lambda: "second")[0] == then
    assert shared.get(ONE, lambda: replace(VERSION, looks=1), lambda: "third") == ("third", False)


@pytest.mark.parametrize("limit", ["MOST", "MOST_BYTES"])
def test_reads_that_were_asked_longest_ago_are_dropped(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Three fit, one of which is asked again and again.
    monkeypatch.setattr(shared_reads, limit, {"MOST": 3, "MOST_BYTES": 3 * 8_500}[limit])
    shared = SharedReads[object]()
    numbers = [SharedQuestion(f"exp_{number}") for number in range(4)]
    for question in numbers:
        shared.get(question, lambda: VERSION, lambda: np.zeros(1_000))
        assert shared.get(numbers[0], lambda: VERSION, lambda: 1)[1]
    assert [shared.get(one, lambda: VERSION, lambda: 1)[1] for one in numbers[2:]] == [True, True]
    assert shared.get(numbers[1], lambda: VERSION, lambda: 1) == (1, False)


def test_a_read_that_is_larger_than_the_bound_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "MOST_BYTES", 7_999)
    shared = SharedReads[object]()
    shared.get(ONE, lambda: VERSION, lambda: np.zeros(1_000))
    assert shared.get(ONE, lambda: VERSION, lambda: 1) == (1, False)


@dataclass(frozen=True, slots=True)
class Pair:
    """A record."""

    first: object
    second: object


def test_the_fields_of_records_are_not_looked_up_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, asked = SharedReads[object](), list[object]()
    monkeypatch.setattr(dataclasses, "fields", asked.append)
    monkeypatch.setattr(shared_reads, "MOST_BYTES", 100_000)
    shared.get(ONE, lambda: VERSION, lambda: [Pair(number, None) for number in range(1_000)])
    assert shared.get(ONE, lambda: VERSION, lambda: 1)[1]
    assert asked == []
    # What a record has is counted.
    shared.get(ONE._replace(segment="x"), lambda: VERSION, lambda: Pair(1, np.zeros(12_500)))
    assert shared.get(ONE._replace(segment="x"), lambda: VERSION, lambda: 1) == (1, False)


def test_reads_of_every_measure_are_kept() -> None:
    shared = SharedReads[object]()
    for name in MEASURES:
        question = SharedQuestion(name)
        shared.get(question, lambda: VERSION, partial(MEASURES.get, name))
        assert shared.get(question, lambda: VERSION, lambda: None)[1], name


def test_what_was_read_of_an_experiment_can_be_forgotten() -> None:
    shared = SharedReads[int]()
    for question in (ONE, ONE._replace(segment="x"), ANOTHER):
        shared.get(question, lambda: VERSION, lambda: 1)
    shared.forget(["exp_1", "exp_3"])
    kept = [
        shared.get(one, lambda: VERSION, lambda: 2)[1] for one in (ONE, ONE._replace(segment="x"), ANOTHER)
    ]
    assert kept == [False, False, True]


def test_what_is_forgotten_when_it_was_just_computed_is_not_kept() -> None:
    shared, asked = SharedReads[int](), count(1)

    def version() -> ResultsVersion:
        if next(asked) == 3:
            shared.forget(["exp_1"])
        return VERSION

    assert shared.get(ONE, version, lambda: 1) == (1, False)
    assert shared.get(ONE, version, lambda: 2) == (2, False)
    assert shared.get(ONE, version, lambda: 3) == (2, True)


@pytest.mark.parametrize("ends", ["erased", "removed"])
def test_nothing_of_an_erased_person_or_a_removed_experiment_stays_in_memory(
    ends: str, store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    exposure = an_exposure(experiment)
    store.write(project, exposure, a_purchase())
    evidence = store.results.evidence(experiment, project, now=NOW)
    segments = store.results.segment_evidence(experiment, project, now=NOW)
    arrays = [ref(evidence.visitors), ref(segments.counts.visitors)]
    del evidence, segments
    assert all(array() is not None for array in arrays)
    if ends == "erased":
        key = exposure.visitor_key
        store.rollup.erase(project.id, key, is_user=False, keep_out=lambda _: None, remove=lambda *_: None)
    else:
        store.rollup.forget([experiment.id])
    assert [array() for array in arrays] == [None, None]


def test_reports_of_a_publication_read_the_store_once(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(project, an_exposure(experiment), a_purchase())
    # Records the look that is due, which gives another version.
    store.results.report(experiment, project, now=NOW)
    first = store.results.shared_report(experiment, project, now=NOW)
    offered = store.results.available_segments(experiment)
    of_segments = store.results.segments(experiment, project, now=NOW)
    monkeypatch.setattr(Warehouse, "cursor", None)
    assert store.results.shared_report(experiment, project, now=NOW) is first
    assert store.results.available_segments(experiment) is offered
    assert store.results.segments(experiment, project, now=NOW).goals is of_segments.goals
    # Another minute has a report of its own, of the same evidence.
    later = store.results.shared_report(experiment, project, now=NOW.replace(hour=NOW.hour + 1))
    assert later.as_of == NOW.replace(hour=NOW.hour + 1)
    assert later.goals == first.goals
    later_segments = store.results.segments(experiment, project, now=NOW.replace(hour=NOW.hour + 1))
    assert (later_segments.as_of, later_segments.goals) == (later.as_of, of_segments.goals)
