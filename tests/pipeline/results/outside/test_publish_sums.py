"""Sums from outside: what was counted here and handed in as sums is reported as before."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import AttributeUnit
from engine.errors import InvalidDesignError, TransitionError
from pipeline.results.filters import InvalidFilterError, SegmentFilters
from pipeline.results.outside.counted_sums import sums_of
from pipeline.results.outside.outside_sums import OutsideSums
from pipeline.results.outside.publish_sums import PublishedSums, publish_sums
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.store.warehouse import published as published_rollups
from tests.builders import NOW, STARTED, a_goal
from tests.pipeline.distributed.drawn_projects import CountedProject
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

LATER = STARTED + timedelta(days=20)
# What no sum tells, and who counted; `funnels`, and two numbers of ratios, are known of all visitors alone.
UNKNOWN = {"senders", "other_currencies", "sums_from"}
UNKNOWN_IN_SEGMENTS = {*UNKNOWN, "funnels", "nonzero", "largest_orders"}


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def differences(one: object, other: object, path: str = "") -> Iterator[str]:
    """Name the fields in which two pieces of evidence differ."""
    if is_dataclass(one) and type(one) is type(other):
        for each in fields(one):
            yield from differences(getattr(one, each.name), getattr(other, each.name), each.name)
    elif isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            yield path
    elif isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], path)
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for mine, theirs in zip(one, other, strict=True):
            yield from differences(mine, theirs, path)
    elif one != other:
        yield path


def counted_sums(store: WorkingStore, experiment: Experiment) -> OutsideSums:
    with store.warehouse.transaction() as cursor:
        record = published_rollups.find(cursor, experiment.id)
        assert record is not None
        return sums_of(cursor, experiment, record, source="cluster")


def hand_in(
    store: WorkingStore, project: Project, experiment: Experiment, sums: OutsideSums, **options: Any
) -> PublishedSums:
    return publish_sums(store, project, experiment.id, sums, **{"actor": "test", "now": LATER, **options})


def plain_sums(
    project: Project, experiment: Experiment, *, converted: int = 2, watermark: datetime = NOW, **fields: Any
) -> OutsideSums:
    """Build sums of 10 visitors of each variant on the first day, of which some converted."""
    names = [one.id for one in experiment.variants]
    day, everyone = STARTED.date(), {"dimension": "", "value": ""}
    cells = [{**everyone, "variant": one, "day": day, "visitors": 10} for one in names]
    goal = {"goal": experiment.goals[0].id, "sum": "money", "day": day}
    cells += [
        {**everyone, **goal, "variant": one, "conversions": converted, "cohort_conversions": converted}
        for one in names
    ]
    rules = fingerprint(experiment, CountingRules.of(project))
    given = {"source": "lake", "fingerprint": rules, "watermark": watermark, "cells": pl.DataFrame(cells)}
    return OutsideSums(**{**given, **fields})


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    return store.add_experiment(project)


def test_evidence_of_every_measure_is_that_of_the_events(store: WorkingStore) -> None:
    counted = CountedProject.draw(store, 1500)
    filters: tuple[dict[str, str], ...] = (
        {},
        {"device_type": "mobile"},
        {"custom_dimension_key": "plan", "custom_dimension_value": "pro"},
    )
    plain, adjusted, *_ = counted.experiments
    for experiment in (plain, adjusted):
        sums = replace(counted_sums(store, experiment), watermark=LATER)
        # As they are sent.
        table = OutsideSums.of_table(
            sums.table(), source=sums.source, fingerprint=sums.fingerprint, watermark=sums.watermark
        )
        assert table.digest == sums.digest
        before = [store.observe(experiment, counted.project, one, now=LATER) for one in filters]
        segments = store.results.segment_evidence(experiment, counted.project, now=LATER)
        received = replace(table, last_exposed_at=sums.last_exposed_at)
        hand_in(store, counted.project, experiment, received, takes_over=True)
        for one, was in zip(filters, before, strict=True):
            found = store.observe(experiment, counted.project, one, now=LATER)
            unknown = UNKNOWN_IN_SEGMENTS if one else UNKNOWN
            assert was.visitors.sum() > 0
            assert set(differences(was, found)) <= unknown
        found_segments = store.results.segment_evidence(experiment, counted.project, now=LATER)
        assert set(differences(segments, found_segments)) <= {"left_out"}
        assert not [one for one in store.rollup.rebuild(counted.project.id).recounted if one == experiment.id]


def test_results_say_what_was_handed_in_and_events_here_change_nothing(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    assert hand_in(store, project, experiment, plain_sums(project, experiment)).is_changed
    store.write(project, an_exposure(experiment, visitor="v9"), a_purchase("v9"))
    for count in (store.rollup.refresh, store.rollup.rebuild):
        count(project.id)
        evidence = store.observe(experiment, project, now=LATER)
        assert evidence.visitors.tolist() == [10, 10]
        assert evidence.conversions.tolist() == [[2, 2]]
        assert evidence.as_of == NOW
    assert store.results.may_have_counted(experiment, project)
    assert store.results.is_fresh(experiment, project)


def test_a_look_is_recorded_of_what_was_handed_in_and_nights_need_no_events(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project, statistics=Statistics(sequential="always_valid"))
    hand_in(store, project, experiment, plain_sums(project, experiment))
    store.due_looks.record(experiment, project, now=LATER)
    (look,) = store.catalog.recorded_looks.of(experiment.id)
    assert look.taken_at == NOW
    # There is no event to check or count.
    assert store.rollup.rebuild(project.id, at_night=True).recounted == ()
    hand_in(store, project, experiment, plain_sums(project, experiment, converted=3))
    assert store.catalog.recorded_looks.of(experiment.id) == (look,)


def test_the_same_sums_again_change_nothing_but_their_time(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    hand_in(store, project, experiment, plain_sums(project, experiment))
    changes = store.rollup.publications.changes(experiment.id)
    trail = len(store.catalog.audit.of(experiment.id))
    assert not hand_in(store, project, experiment, plain_sums(project, experiment)).is_changed
    assert len(store.catalog.audit.of(experiment.id)) == trail
    newer = plain_sums(project, experiment, watermark=NOW + timedelta(hours=1))
    assert not hand_in(store, project, experiment, newer).is_changed
    assert store.rollup.publications.changes(experiment.id) == changes
    assert store.observe(experiment, project, now=LATER).as_of == NOW + timedelta(hours=1)


def test_of_two_publishers_at_once_the_newer_sums_stay(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    both, refused = Barrier(2), list[str]()

    def run(converted: int) -> None:
        sums = plain_sums(
            project, experiment, converted=converted, watermark=NOW + timedelta(hours=converted)
        )
        both.wait()
        try:
            hand_in(store, project, experiment, sums)
        except TransitionError as error:
            refused.append(error.code)

    threads = [Thread(target=run, args=(number,)) for number in (1, 2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert refused in ([], ["older_sums"])
    assert store.observe(experiment, project, now=LATER).conversions.tolist() == [[2, 2]]


def test_readers_see_the_sums_of_one_publication(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    hand_in(store, project, experiment, plain_sums(project, experiment))
    seen, is_over = list[list[int]](), Event()

    def read() -> None:
        while not is_over.is_set():
            seen.append(store.observe(experiment, project, now=LATER).conversions[0].tolist())

    reader = Thread(target=read)
    reader.start()
    try:
        for converted in (3, 4, 5):
            hand_in(store, project, experiment, plain_sums(project, experiment, converted=converted))
    finally:
        is_over.set()
        reader.join()
    assert seen
    assert [one for one in seen if one not in [[number] * 2 for number in (2, 3, 4, 5)]] == []


def test_a_publication_that_fails_leaves_the_sums_of_before(
    store: WorkingStore, project: Project, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(store, project, experiment, plain_sums(project, experiment))

    def fail(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr("pipeline.results.outside.publish_sums.published_rollups.publish", fail)
    with pytest.raises(OSError, match="no space"):
        hand_in(store, project, experiment, plain_sums(project, experiment, converted=5))
    assert store.observe(experiment, project, now=LATER).conversions.tolist() == [[2, 2]]


def refusal(store: WorkingStore, project: Project, experiment: Experiment, sums: OutsideSums) -> str:
    with pytest.raises(TransitionError) as raised:
        hand_in(store, project, experiment, sums)
    return raised.value.code


def test_sums_of_another_time_or_by_other_rules_are_refused(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    plain = plain_sums(project, experiment)
    hand_in(store, project, experiment, plain)
    older = plain_sums(project, experiment, converted=1, watermark=NOW - timedelta(seconds=1))
    assert refusal(store, project, experiment, older) == "older_sums"
    ahead = plain_sums(project, experiment, watermark=LATER + timedelta(hours=1))
    assert refusal(store, project, experiment, ahead) == "older_sums"
    other_goal = replace(experiment, goals=(a_goal(id="other"),))
    assert refusal(store, project, experiment, plain_sums(project, other_goal)) == "rules_changed"
    draft = store.add_experiment(project, status="draft")
    assert refusal(store, project, draft, plain_sums(project, draft)) == "invalid_transition"


def test_sums_of_a_completed_test_are_taken_until_they_reach_its_end(
    store: WorkingStore, project: Project
) -> None:
    ended = store.add_experiment(project, status="completed", completed_at=NOW)
    hand_in(store, project, ended, plain_sums(project, ended))
    last = plain_sums(project, ended, converted=3, watermark=NOW + timedelta(hours=1))
    hand_in(store, project, ended, last)
    again = plain_sums(project, ended, converted=4, watermark=NOW + timedelta(hours=2))
    assert refusal(store, project, ended, again) == "experiment_locked"


def test_sums_do_not_mix_with_what_is_counted_here(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    sums = plain_sums(project, experiment)
    assert refusal(store, project, experiment, sums) == "counted_here"
    hand_in(store, project, experiment, sums, takes_over=True)
    assert store.observe(experiment, project, now=LATER).visitors.tolist() == [10, 10]


@pytest.mark.parametrize(
    "overrides",
    [
        {"unit": AttributeUnit(attribute="plan")},
        {"statistics": Statistics(cuped=True, covariates=("pre_period", "country"))},
    ],
)
def test_what_needs_visitors_is_refused_by_name(
    store: WorkingStore, project: Project, overrides: dict[str, Any]
) -> None:
    experiment = store.add_experiment(project, **overrides)
    assert refusal(store, project, experiment, plain_sums(project, experiment)) == "needs_visitors"


@pytest.mark.parametrize(
    ("filters", "sentence"),
    [
        ({"country": "DE"}, "country: the sums of lake are not split by it"),
        ({"custom_dimension_key": "plan", "custom_dimension_value": "pro"}, "custom_dimension_key: the sums"),
    ],
)
def test_filters_that_sums_do_not_tell_of_are_refused(
    store: WorkingStore, project: Project, experiment: Experiment, filters: dict[str, str], sentence: str
) -> None:
    hand_in(store, project, experiment, plain_sums(project, experiment))
    with pytest.raises(InvalidFilterError, match=sentence):
        store.observe(experiment, project, filters, now=LATER)
    with pytest.raises(InvalidFilterError, match="from: the sums of lake are of all days together"):
        store.results.report(experiment, project, SegmentFilters(first_day=STARTED.date()), now=LATER)


def test_an_analysis_that_needs_products_is_refused_without_them(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project, statistics=Statistics(cuped=True))
    with pytest.raises(InvalidDesignError, match=r"products: y of goal 'goal_1' is missing: variant 'var_"):
        hand_in(store, project, experiment, plain_sums(project, experiment))
