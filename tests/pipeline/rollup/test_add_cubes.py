"""Stores without sums of cubes get them when they are opened; the sums are those of a DataFrame."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

from engine.frames.counts import count
from engine.frames.rows import Columns, read_rows
from pipeline.rollup.add_cubes import add_cubes
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.visitors import result_table
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure

CENTS = (0, 0, 0, 250, 31_622_777, 9 * 10**11, 1_999)


def fill(store: WorkingStore, **fields: Any) -> tuple[Any, Any]:
    """Three in seven visitors see the variant; each has another amount."""
    project = store.add_project()
    experiment = store.add_experiment(project, **fields)
    for number, cents in enumerate(CENTS):
        visitor = f"v{number}"
        exposure = an_exposure(
            experiment, int(number in {0, 3, 6}), visitor, country="DE" if number % 2 else "US"
        )
        bought = [a_purchase(visitor, minute=2 + number, cents=cents)] if cents else []
        store.write(project, exposure, *bought)
    store.rollup.refresh(project.id)
    return project, experiment


def test_sums_without_cubes_get_them_when_the_store_is_opened(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project, experiment = fill(store)
        with store.warehouse.transaction() as cursor:
            before = aggregates.read_all(cursor, experiment.id)
            table = result_table("aggregates", experiment.id)
            for part in ("high", "low"):
                cursor.execute(f"ALTER TABLE {table} DROP COLUMN cohort_cents_cubed_{part}")
            assert not aggregates.has_cubes(cursor, experiment.id)
    with a_working_store(tmp_path) as store:
        with store.warehouse.transaction() as cursor:
            assert_frame_equal(aggregates.read_all(cursor, experiment.id), before, check_row_order=False)
        assert before["cohort_cents_cubed_low"].sum()
        assert before["cohort_cents_cubed_high"].sum()
        assert add_cubes(store.warehouse) == []
        assert store.rollup.rebuild(project.id).drifted == ()


def test_moments_of_the_store_are_those_of_a_data_frame(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project, experiment = fill(store)
        found = store.observe(experiment, project).revenue
    arms = [int(number in {0, 3, 6}) for number in range(len(CENTS))]
    frame = pl.DataFrame({"arm": [f"arm {arm}" for arm in arms], "cents": CENTS})
    columns = Columns(variant="arm", goals={"spent": "revenue"})
    rows = read_rows(frame.with_columns(spent=pl.col("cents") / 100), columns)
    counted = count(rows, variants=["arm 0", "arm 1"], goals={"spent": "revenue"}, timezone="UTC").revenue
    for name in ("n", "mean", "m2", "m3"):
        np.testing.assert_allclose(getattr(found, name), getattr(counted, name), rtol=1e-12)
    assert (found.m3 != 0).all()
