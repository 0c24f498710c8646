import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st


def drawn() -> list[int]:
    found: list[int] = []

    @seed(1)
    @settings(max_examples=200, database=None)
    @given(st.integers())
    def collect(number: int) -> None:
        found.append(number)

    collect()
    return found


def test_a_seed_draws_the_same_beside_other_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn()
    path = tmp_path / "another.py"
    path.write_text(f"NUMBERS = {[*range(1_000_000, 1_000_400, 2)]}")
    spec = spec_from_file_location("another", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "another", module)
    assert drawn() == before
