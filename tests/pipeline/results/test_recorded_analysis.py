from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from pipeline.results.recorded_analysis import analyze_and_record
from pipeline.store.catalog.errors import NotFoundError
from tests.builders import STARTED, an_experiment
from tests.observations import observed
from tests.pipeline.working_store import WorkingStore, a_working_store

NOW = STARTED + timedelta(days=10)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def experiment(store: WorkingStore) -> Experiment:
    return store.add_experiment(store.add_project())


def evidence_as_of_now(buyers: tuple[int, int] = (200, 250)) -> Evidence:
    return observed((2_000, 2_000), buyers, as_of=NOW)


def test_report_is_that_of_the_look_it_recorded(store: WorkingStore, experiment: Experiment) -> None:
    looks = store.catalog.recorded_looks
    ask = partial(analyze_and_record, experiment, looks=looks, now=NOW, currency="USD", is_finished=True)
    first = ask(evidence_as_of_now())
    (look,) = looks.of(experiment.id)
    assert (look.is_at_plan, look.plan.source, look.recommendation) == (True, "finished", "ship")
    assert (first.plan.reached_at, first.due_look) == (NOW, None)
    # One look, whatever comes later.
    second = ask(evidence_as_of_now((200, 210)))
    assert looks.of(experiment.id) == (look,)
    for report in (first, second):
        assert report.primary is not None
        assert report.primary.decision.recommendation == "ship"


def test_evidence_that_lacks_events_is_not_recorded(store: WorkingStore, experiment: Experiment) -> None:
    looks = store.catalog.recorded_looks
    for as_of in (None, NOW - timedelta(seconds=1)):
        report = analyze_and_record(
            experiment, replace(evidence_as_of_now(), as_of=as_of), looks, now=NOW, currency="USD"
        )
        assert report.due_look is not None
        assert looks.of(experiment.id) == ()


def test_verdict_that_cannot_be_recorded_is_not_given(store: WorkingStore) -> None:
    unknown = an_experiment(id="exp_unknown", status="running")
    with pytest.raises(NotFoundError):
        analyze_and_record(
            unknown, evidence_as_of_now(), store.catalog.recorded_looks, now=NOW, currency="USD"
        )
