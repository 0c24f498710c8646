from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.published import Published

RECORD = Published(
    experiment_id="exp_1",
    fingerprint="f",
    rules="{}",
    covered_seq=7,
    as_of=5,
    last_exposed_at=None,
    variants=("var_0", "var_1"),
    goals=("goal_1",),
    dimensions=(),
    is_final=False,
)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    opened = Warehouse.open(Settings(data_dir=tmp_path))
    with opened.cursor() as cursor:
        published.create_tables(cursor)
    yield opened
    opened.close()


def test_a_record_replaces_the_one_before(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        published.publish(cursor, [RECORD])
        published.publish(cursor, [RECORD._replace(covered_seq=9)])
        assert published.find(cursor, "exp_1") == RECORD._replace(covered_seq=9)
    assert published.list_experiments(warehouse) == ["exp_1"]


def test_withdrawn_results_are_gone(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        published.publish(cursor, [RECORD])
        published.withdraw(cursor, "exp_1")
        assert published.find(cursor, "exp_1") is None


def test_kept_nights_stay_until_they_are_removed_by_age_or_withdrawn_with_the_results(
    warehouse: Warehouse,
) -> None:
    first, second = date(2026, 3, 1), date(2026, 3, 2)
    with warehouse.transaction() as cursor:
        published.create_tables(cursor)
        for day, content in ((first, b"old"), (first, b"new"), (second, b"next")):
            published.keep_night(cursor, "exp_1", day, content)
        assert published.find_kept(cursor, "exp_1", first) == b"old"
        published.replace_night(cursor, "exp_1", first, b"blanked")
        assert published.find_kept(cursor, "exp_1", first) == b"blanked"
        assert published.list_kept(cursor, "exp_1") == [first, second]
        assert published.find_kept(cursor, "exp_2", first) is None
        published.remove_kept(cursor, "exp_1", before=second)
        assert published.list_kept(cursor, "exp_1") == [second]
        published.keep_night(cursor, "exp_1", date(2026, 3, 3), b"of a clock that was ahead")
        published.remove_kept(cursor, "exp_1", after=second)
        assert published.list_kept(cursor, "exp_1") == [second]
        published.withdraw(cursor, "exp_1")
        assert published.list_kept(cursor, "exp_1") == []


def test_records_of_several_experiments_are_found_at_once(warehouse: Warehouse) -> None:
    other = RECORD._replace(experiment_id="exp_2")
    with warehouse.transaction() as cursor:
        published.publish(cursor, [RECORD, other])
        found = published.find_all(cursor, ["exp_2", "exp_3"])
    assert found == {"exp_2": other}
