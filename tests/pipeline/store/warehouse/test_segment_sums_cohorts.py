"""Cohorts of visitors by the day of first exposure."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.local_days import epoch_days
from pipeline.store.warehouse.aggregates import EVERYONE, read_segment_cohorts
from pipeline.store.warehouse.segment_sums import read_cohorts
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure

DAY = 24 * 60


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def test_a_conversion_of_any_day_is_of_the_day_of_exposure(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(
        project,
        an_exposure(experiment, 0, "a", country="DE"),
        an_exposure(experiment, 0, "b", country="US"),
        an_exposure(experiment, 1, "c", minute=DAY, country="DE"),
        an_exposure(experiment, 1, "d", minute=2 * DAY, country="DE"),
        a_purchase("a", minute=5 * DAY),
        a_purchase("c", minute=6 * DAY),
        a_purchase("d", minute=3 * DAY),
    )
    store.rollup.refresh(project.id)
    first = epoch_days(STARTED.date())
    with store.warehouse.transaction() as cursor:
        visitors = SelectedVisitors.everyone(cursor, experiment.id, variants=2)
        found = read_cohorts(visitors, {0: first + 1}).sort("day")
        german = read_cohorts(visitors.within({"country": "DE"}), {0: first + 1}).sort("day")
        by_segment = read_segment_cohorts(cursor, experiment.id, {0: first + 1})
    assert found.rows() == [(0, 0, first, 2, 1), (0, 1, first + 1, 1, 1)]
    assert german.rows() == [(0, 0, first, 1, 1), (0, 1, first + 1, 1, 1)]
    everyone = by_segment.filter(dimension=EVERYONE).sort("variant")
    assert everyone.select("variant", "observed", "conversions").rows() == [(0, 2, 1), (1, 1, 1)]
    american = by_segment.filter(dimension="country", value="US")
    assert american.select("variant", "observed", "conversions").rows() == [(0, 1, 0)]
