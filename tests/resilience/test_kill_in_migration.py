"""A store whose migration was killed is opened by the next start, with all of its contents."""

from pathlib import Path

import pytest

from pipeline.store.warehouse.events import EVENT_SCHEMA
from tests import old_store
from tests.resilience.kills import KillLoop, Workers
from tests.resilience.store_parts import parts_of


def survive(workers: Workers, prepared: Path, scratch: Path, kills: int) -> None:
    store = KillLoop(workers, "opening", prepared, scratch, parts_of).survive(kills, seed=3)
    events = [part for name, part in parts_of(store).items() if name.startswith("events of ")]
    for *_, columns in events:
        assert {name for name, *_ in columns} == {"seq", *EVENT_SCHEMA}


@pytest.mark.slow
@pytest.mark.long(seconds=36)
@pytest.mark.parametrize("kills", [18])
def test_old_store_is_whole_after_kills_of_its_migration(
    tmp_path: Path, workers: Workers, kills: int
) -> None:
    survive(workers, old_store.unpack(tmp_path), tmp_path / "scratch", kills)


@pytest.mark.slow
@pytest.mark.long(seconds=24)
def test_new_store_is_made_after_many_kills_of_its_making(tmp_path: Path, workers: Workers) -> None:
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    survive(workers, prepared, tmp_path / "scratch", 12)
