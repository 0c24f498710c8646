"""Memory of the machine, or of the container."""

import os
from pathlib import Path

import pytest

from pipeline.available_memory import available_memory

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.fixture
def own_group(tmp_path: Path) -> Path:
    (tmp_path / "groups/shop.slice/serve").mkdir(parents=True)
    file = tmp_path / "cgroup"
    file.write_text("0::/shop.slice/serve\n")
    return file


def test_without_a_limit_it_is_that_of_the_machine(tmp_path: Path, own_group: Path) -> None:
    (tmp_path / "groups/shop.slice/serve/memory.max").write_text("max\n")
    assert available_memory(tmp_path / "groups", own_group) == MACHINE
    assert available_memory(tmp_path / "nothing", tmp_path / "nowhere") == MACHINE


@pytest.mark.parametrize("group", ["", "shop.slice", "shop.slice/serve"])
def test_the_limit_of_any_group_above_holds(tmp_path: Path, own_group: Path, group: str) -> None:
    (tmp_path / "groups" / group / "memory.max").write_text("536870912\n")
    assert available_memory(tmp_path / "groups", own_group) == 512 * 2**20


def test_a_limit_of_the_old_kind_holds(tmp_path: Path, own_group: Path) -> None:
    (tmp_path / "groups/memory").mkdir()
    (tmp_path / "groups/memory/memory.limit_in_bytes").write_text("1073741824\n")
    assert available_memory(tmp_path / "groups", own_group) == 2**30
