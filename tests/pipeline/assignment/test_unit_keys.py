from collections.abc import Iterator
from pathlib import Path

import msgspec
import polars as pl
import pytest

from engine.design.experiment import Experiment
from engine.design.units import AttributeUnit
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.project_cache import rule_of
from pipeline.assignment.unit_keys import key_of_row, member_key, unit_of_row
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from pipeline.store.warehouse.events import table_name
from tests.builders import an_experiment
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure

# A key that a JSON path or pointer would have to quote.
KEY = 'acc"/~$'
UNIT = AttributeUnit(attribute=KEY)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def seen(experiment: Experiment, variant: int, visitor: str, account: str | None) -> EventRow:
    custom = None if account is None else msgspec.json.encode({KEY: account}).decode()
    return an_exposure(experiment, variant, visitor, user_id=f"user of {visitor}", custom=custom)


def test_the_unit_of_an_event_is_its_visitor_its_user_or_what_the_attribute_says() -> None:
    row = seen(an_experiment(), 0, "v1", " acme ")
    assert [unit_of_row(unit, row) for unit in ("visitor", "user", UNIT)] == ["v1", "user of v1", "acme"]
    assert key_of_row("visitor", row) == row.visitor_key == hash64("v1")
    assert key_of_row(UNIT, row) == hash64("acme")
    assert key_of_row(UNIT, seen(an_experiment(), 0, "v1", None)) is None


def test_a_visitor_whose_id_is_that_of_its_unit_has_a_key_of_its_own() -> None:
    key = hash64("acme")
    assert len({key, member_key(key, key), member_key(hash64("v1"), key), member_key(key, hash64("v1"))}) == 4
    assert 0 <= member_key(2**64 - 1, 2**64 - 1) < 2**64


@pytest.mark.parametrize("is_fed", [True, False], ids=["as they come", "from the store"])
def test_first_assignments_are_those_of_units(store: WorkingStore, *, is_fed: bool) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, unit=UNIT)
    of_users = store.add_experiment(project, unit="user", test_key="second")
    plain = store.add_experiment(project, test_key="third")
    rules = [rule for one in (experiment, of_users, plain) if (rule := rule_of(one))]
    known = FirstAssignments(store.warehouse, store.ingest, store.settings)
    if is_fed:
        known.of_visitor(project.id, rules, 0)
    rows = [
        seen(experiment, 1, "v1", "acme"),
        seen(experiment, 0, "v2", " acme"),
        seen(experiment, 0, "acme", "beta"),
        seen(experiment, 0, "v3", None),
        seen(of_users, 1, "v1", None),
        seen(plain, 1, "v1", None),
        seen(plain, 0, "beta", None),
    ]
    store.write(project, *rows)

    def of(visitor: str, account: str | None, user: str | None = None) -> tuple[dict[str, str], set[str]]:
        given = {experiment.id: account, of_users.id: user}
        units = {one: hash64(text) for one, text in given.items() if text is not None}
        found = known.of_visitor(project.id, rules, hash64(visitor), units=units)
        names = {experiment.id: "account", of_users.id: "user", plain.id: "visitor"}
        variants = {names[one]: variant for one, variant in found.variant_ids.items()}
        return variants, {names[one] for one in found.inherited}

    assert of("v2", "acme") == ({"account": "var_1"}, set())
    assert of("v9", "acme") == ({"account": "var_1"}, {"account"})
    assert of("acme", "acme") == ({"account": "var_1"}, {"account"})
    assert of("v3", None) == ({}, set())
    assert of("beta", "beta") == ({"account": "var_0", "visitor": "var_0"}, {"account"})
    assert of("v1", None, "user of v1") == ({"user": "var_1", "visitor": "var_1"}, set())
    assert of("v7", None, "user of v1") == ({"user": "var_1"}, {"user"})
    assert known.is_exposed(project.id, rules[0], hash64("acme"))
    assert not known.is_exposed(project.id, rules[0], hash64("v1"))
    known.close()


def test_a_member_who_is_erased_is_in_no_key_and_the_unit_keeps_the_others(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project, unit=UNIT)
    rule = rule_of(experiment)
    assert rule is not None
    known = FirstAssignments(store.warehouse, store.ingest, store.settings)
    store.write(project, seen(experiment, 1, "v1", "acme"), seen(experiment, 1, "v2", "acme"))
    units = {experiment.id: hash64("acme")}

    def inherits(visitor: str) -> bool:
        found = known.of_visitor(project.id, [rule], hash64(visitor), units=units)
        assert found.variant_ids == {experiment.id: "var_1"}
        return bool(found.inherited)

    assert [inherits(visitor) for visitor in ("v1", "v2", "v3")] == [False, False, True]
    known.write()
    with store.warehouse.transaction() as cursor:
        cursor.execute(f"DELETE FROM \"{table_name(project.id)}\" WHERE visitor_id = 'v1'")  # noqa: S608 (named here)
    none = pl.Series([], dtype=pl.UInt64)
    store.ingest.tell_erasure(project.id, PersonIds(pl.Series([hash64("v1")], dtype=pl.UInt64), none))
    written = b"".join(path.read_bytes() for path in store.settings.assignments_path.glob("*"))
    for key in (hash64("v1"), member_key(hash64("v1"), hash64("acme"))):
        assert key.to_bytes(8, "little") not in written
    assert [inherits(visitor) for visitor in ("v1", "v2", "v3")] == [True, False, True]
    known.close()
