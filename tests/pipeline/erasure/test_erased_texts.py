"""Texts of erased persons in results that are kept: blanked once no other person has them."""

from datetime import timedelta
from typing import Any

import polars as pl

from engine.design.project import Project
from pipeline.erasure.person_erasure import end_begun_erasures
from pipeline.events.hashing import hash64
from pipeline.store.warehouse import visitors
from pipeline.store.warehouse.erasure.segment_texts import ERASED
from tests.builders import NOW
from tests.pipeline.erasure.erased_persons import GONE, STAYS, erase_visitor
from tests.pipeline.working_store import WorkingStore, an_exposure, now_of


def test_a_text_that_two_persons_had_goes_with_the_second(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    shared = '{"plan":"gold","who":"house 7"}'
    rows = [an_exposure(experiment, 0, name, custom=shared, region="Faraway") for name in (GONE, STAYS)]
    others = [
        an_exposure(experiment, number % 2, f"v{number}", custom='{"plan":"gold"}') for number in range(9)
    ]
    store.write(project, *rows, *others)
    store.nights.keep([experiment], project, [NOW.date()], run_id="run_1", now=NOW)
    store.change(experiment, status="completed", completed_at=NOW - timedelta(minutes=5))
    store.rollup.refresh(project.id)
    ended = now_of(store, experiment)

    def told() -> list[Any]:
        night = store.nights.available_segments(ended, project, night=NOW.date(), now=NOW)
        return [store.results.available_segments(ended), night]

    first = told()
    assert "Faraway" in str(first[0])
    erase_visitor(store, project, GONE)
    assert told() == first
    receipt = erase_visitor(store, project, STAYS)
    assert receipt.sums_kept == (experiment.id,)
    for one in told():
        assert one["regions"] == [ERASED]
        values = {custom["key"]: custom["values"] for custom in one["custom_dimensions"]}
        assert values == {"plan": ["gold"], "who": [ERASED]}
    filters = {"custom_dimension_key": "plan", "custom_dimension_value": "gold"}
    assert store.observe(ended, project, filters).visitors.tolist() == [7, 4]
    assert store.observe(ended, project, {"region": ERASED}).visitors.tolist() == [2, 0]
    assert store.observe(ended, project, {"region": ERASED, **filters}).visitors.tolist() == [2, 0]


def test_texts_that_an_earlier_version_left_are_blanked_once(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    left = an_exposure(experiment, 0, GONE, custom='{"plan":"gold","mail":"ann@x.example"}', region="Faraway")
    others = [an_exposure(experiment, 1, f"v{number}", custom='{"plan":"gold"}') for number in range(3)]
    store.write(project, left, *others)
    store.nights.keep([experiment], project, [NOW.date()], run_id="run_1", now=NOW)
    ended = store.change(experiment, status="completed", completed_at=NOW - timedelta(minutes=5))
    store.rollup.refresh(project.id)
    with store.warehouse.transaction() as cursor:
        visitors.remove(cursor, "visitors", experiment.id, pl.Series([hash64(GONE)], dtype=pl.UInt64))
    before = store.results.available_segments(ended)
    assert "ann@x.example" in str(before)
    end_begun_erasures(store)
    night = store.nights.available_segments(ended, project, night=NOW.date(), now=NOW)
    for one in (store.results.available_segments(ended), night):
        assert one["regions"] == [ERASED]
        values = {custom["key"]: custom["values"] for custom in one["custom_dimensions"]}
        assert values == {"plan": ["gold"], "mail": [ERASED]}
    assert store.observe(ended, project, {"region": ERASED}).visitors.tolist() == [1, 0]
    number = store.rollup.publications.number(experiment.id)
    end_begun_erasures(store)
    assert store.rollup.publications.number(experiment.id) == number
