"""`import truelift` is light: each name is loaded when it is first used, and brings only what it needs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import truelift

ROOT = Path(__file__).parents[2]
STORES_AND_WEB = ("duckdb", "sqlalchemy", "fastapi", "starlette", "uvicorn", "typer")
SLOW = ("numpy", "polars", "scipy", "narwhals", "engine", "pipeline")
FROM_SNAPSHOTS = {"Snapshot", "UnreadableSnapshotError", "open_snapshot"}


def imported_by(code: str, names: tuple[str, ...]) -> list[str]:
    """Which of the modules a fresh process has imported after `code`."""
    script = f"import sys\n{code}\nprint(*(name for name in {names} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return run.stdout.split()


def typed_sources() -> dict[str, tuple[str, str]]:
    """Each name of the type checker's imports in `truelift` → its module, and its name there."""
    tree = ast.parse((ROOT / "truelift" / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names
    }


def test_the_package_alone_imports_neither_the_engine_nor_numpy() -> None:
    assert imported_by("import truelift; dir(truelift)", (*SLOW, *STORES_AND_WEB)) == []


def test_analysis_simulation_and_planning_import_no_store_and_no_web_framework() -> None:
    names = [name for name in truelift.__all__ if name not in FROM_SNAPSHOTS]
    assert len(names) > 30
    code = "import truelift\n" + "\n".join(f"truelift.{name}" for name in names)
    assert imported_by(code, STORES_AND_WEB) == []


def test_snapshots_import_no_catalog_and_no_web_framework() -> None:
    without_duckdb = tuple(name for name in STORES_AND_WEB if name != "duckdb")
    assert imported_by("import truelift; truelift.open_snapshot", without_duckdb) == []


@pytest.mark.parametrize("name", truelift.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(truelift, name) is getattr(truelift, name)


def test_the_type_checker_sees_the_names_that_are_loaded() -> None:
    sources = vars(truelift)["_SOURCES"]
    assert typed_sources() == sources
    assert sorted(truelift.__all__) == sorted(sources) == dir(truelift)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'analyse'"):
        _ = truelift.analyse  # type: ignore[attr-defined]  # what the test is about


@pytest.mark.parametrize("package", ["truelift", "engine", "pipeline", "api"])
def test_every_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()
