"""The map is true: ARCHITECTURE.md and CONTRIBUTING.md follow the tree."""

import ast
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.source_tree import PACKAGES, ROOT

MAP = (ROOT / "ARCHITECTURE.md").read_text()
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())


def folders() -> dict[str, str]:
    """Every package of the tree → its docstring."""
    return {
        f"{path.parent.relative_to(ROOT).as_posix()}/": ast.get_docstring(ast.parse(path.read_text())) or ""
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("__init__.py"))
    }


def rows_under(heading: str) -> dict[str, str]:
    """The two columns of the table in that section of ARCHITECTURE.md."""
    section = re.split(r"^## ", MAP.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    cells = re.findall(r"^\| (.+?) \| (.+) \|$", section, re.MULTILINE)
    return {first.strip("`"): second for first, second in cells[1:]}


def names_in(path: Path) -> set[str]:
    """Functions, classes, methods and constants that a module defines."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def documents() -> Iterable[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def test_architecture_lists_every_folder_with_its_docstring() -> None:
    assert rows_under("Folders") == folders()


def test_every_folder_says_its_subject_in_one_sentence() -> None:
    assert len(folders()) > 30
    for folder, sentence in folders().items():
        assert re.fullmatch(r"[^\n.]+\.", sentence), folder


def test_architecture_lists_the_import_contracts() -> None:
    contracts = [contract["name"] for contract in CONFIG["tool"]["importlinter"]["contracts"]]
    assert contracts
    assert list(rows_under("Import rules")) == contracts


def test_architecture_lists_the_layers_of_each_contract() -> None:
    contracts = CONFIG["tool"]["importlinter"]["contracts"]
    layers = {
        one["name"]: one["layers"] for one in contracts if one["type"] == "layers" and "containers" in one
    }
    assert len(layers) > 2
    for name, rows in layers.items():
        meaning = " → ".join(", ".join(f"`{one}`" for one in row.split(" | ")) for row in rows)
        assert rows_under("Import rules")[name] == meaning


def test_contracts_that_name_modules_name_all_of_the_pipeline() -> None:
    children = {
        f"pipeline.{path.stem}"
        for path in (ROOT / "pipeline").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    } - {"pipeline.__init__"}
    contracts = {one["name"]: one for one in CONFIG["tool"]["importlinter"]["contracts"]}
    sql = contracts["Drivers are in the store only"]["source_modules"]
    assert set(sql) == children - {"pipeline.store"} | {"api", "engine"}
    forbidden = contracts["truelift imports the engine, snapshots and assignment only"]["forbidden_modules"]
    allowed = {"pipeline.assignment", "pipeline.events", "pipeline.snapshots"}
    assert set(forbidden) == children - allowed | {"duckdb", "fastapi", "sqlalchemy"}


def test_architecture_says_why_each_dependency_is_there() -> None:
    required = [re.split(r"[\[<>=;]", one)[0] for one in CONFIG["project"]["dependencies"]]
    assert required
    assert list(rows_under("Dependencies")) == required


def test_architecture_lists_the_extras() -> None:
    listed = MAP.partition("\nExtras: ")[2].partition("\n\n")[0]
    assert re.findall(r"`(\w+)` \(", listed) == list(CONFIG["project"]["optional-dependencies"])


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_documents_name_files_and_names_that_exist(document: Path) -> None:
    text = document.read_text()
    paths = re.findall(r"`((?:truelift|engine|pipeline|api|tests|data/sample|notebooks)/[\w/.]*)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    named = re.findall(r"`(\w+)` in `([\w/]+\.py)`", text)
    assert [pair for pair in named if pair[0] not in names_in(ROOT / pair[1])] == []


def test_contributing_answers_at_least_fifteen_questions() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where is")[2]
    assert len(re.findall(r"`\w[\w/]*\.py`", text)) > 15


if __name__ == "__main__":
    # Prints the table of folders: paste it under "Folders".
    print("| folder | content |\n|---|---|")  # noqa: T201 - a script's output
    print("\n".join(f"| `{folder}` | {sentence} |" for folder, sentence in folders().items()))  # noqa: T201 - same
