"""Published records in memory: those of the store, whenever they are read."""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.rollup.publications import Publications
from pipeline.settings import Settings
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.published import Published
from tests.counted_work import counted_warehouse

RECORD = Published("exp_1", "fingerprint", "{}", 1, 0, None, ("a", "b"), ("goal",), (), is_final=False)
NEWER = RECORD._replace(covered_seq=2)
OTHER = RECORD._replace(experiment_id="exp_2")


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    opened = Warehouse.open(Settings(data_dir=tmp_path))
    with opened.cursor() as cursor:
        published_rollups.create_tables(cursor)
    yield opened
    opened.close()


@pytest.fixture
def publications(warehouse: Warehouse) -> Publications:
    return Publications(warehouse)


def publish(warehouse: Warehouse, record: Published) -> None:
    with warehouse.transaction() as cursor:
        published_rollups.publish(cursor, [record])


def test_a_record_is_read_again_once_it_is_replaced(warehouse: Warehouse, publications: Publications) -> None:
    assert publications.find("exp_1") is None
    with publications.replacing(["exp_1"]):
        publish(warehouse, RECORD)
    assert publications.find("exp_1") == RECORD
    assert publications.find("exp_1") is publications.find("exp_1")


def test_every_replacement_has_a_number_of_its_own_also_of_equal_results(
    warehouse: Warehouse, publications: Publications
) -> None:
    numbers = [publications.number("exp_1")]
    for _ in range(2):
        with publications.replacing(["exp_1"]):
            publish(warehouse, RECORD)
        numbers.append(publications.number("exp_1"))
    assert len(set(numbers)) == 3
    assert publications.number("exp_2") == publications.number("exp_3")


def test_a_failed_replacement_may_have_replaced_results(
    warehouse: Warehouse, publications: Publications
) -> None:
    publish(warehouse, RECORD)
    before = publications.find("exp_1"), publications.number("exp_1")
    with suppress(RuntimeError), publications.replacing(["exp_1"]):
        publish(warehouse, NEWER)
        raise RuntimeError
    assert (publications.find("exp_1"), publications.number("exp_1")) != before
    assert publications.find("exp_1") == NEWER


def test_a_record_that_is_replaced_while_it_is_read_is_not_kept(
    warehouse: Warehouse, publications: Publications, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(warehouse, RECORD)
    read = published_rollups.find_all
    replacements: list[Callable[[], None]] = [lambda: publish(warehouse, NEWER)]

    def replace_after_reading(cursor: Cursor, experiment_ids: Collection[str]) -> dict[str, Published]:
        records = read(cursor, experiment_ids)
        while replacements:
            with publications.replacing(experiment_ids):
                replacements.pop()()
        return records

    monkeypatch.setattr(published_rollups, "find_all", replace_after_reading)
    assert publications.find("exp_1") == RECORD
    assert publications.find("exp_1") == NEWER


def test_listeners_are_told_whose_results_were_replaced(publications: Publications) -> None:
    told: list[frozenset[str]] = []
    publications.listen(told.append)
    with publications.replacing(["exp_1", "exp_2"]):
        assert told == []
    assert told == [{"exp_1", "exp_2"}]


def test_final_results_are_known_once_they_are_read(warehouse: Warehouse, publications: Publications) -> None:
    publish(warehouse, RECORD._replace(is_final=True))
    assert not publications.is_final("exp_1")
    publications.find("exp_1")
    assert publications.is_final("exp_1")


def test_records_of_results_that_stay_are_kept_without_reading_them_again(
    warehouse: Warehouse, publications: Publications
) -> None:
    publish(warehouse, RECORD)
    publish(warehouse, OTHER)
    before = [(publications.number(one), publications.changes(one)) for one in ("exp_1", "exp_2")]
    with publications.replacing(["exp_1", "exp_2"]) as only_records:
        publish(warehouse, NEWER)
        only_records["exp_1"] = NEWER
    after = [(publications.number(one), publications.changes(one)) for one in ("exp_1", "exp_2")]
    assert [new[0] - old[0] for new, old in zip(after, before, strict=True)] == [1, 1]
    assert [new[1] - old[1] for new, old in zip(after, before, strict=True)] == [0, 1]
    with counted_warehouse(warehouse) as work:
        assert publications.find_all(["exp_1"]) == {"exp_1": NEWER}
    assert work.statements == 0
    with counted_warehouse(warehouse) as work:
        assert publications.find_all(["exp_1", "exp_2", "exp_3"]) == {"exp_1": NEWER, "exp_2": OTHER}
        assert publications.find("exp_3") is None
    assert work.statements == 1


def test_a_failed_replacement_keeps_no_record(warehouse: Warehouse, publications: Publications) -> None:
    publish(warehouse, RECORD)
    with suppress(RuntimeError), publications.replacing(["exp_1"]) as only_records:
        only_records["exp_1"] = NEWER
        raise RuntimeError
    assert publications.find("exp_1") == RECORD
