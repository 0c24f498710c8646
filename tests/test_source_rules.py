"""Rules of the source that no linter has: where SQL stands, who reads types, and no circle of imports."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.source_tree import PACKAGES, ROOT, modules

# Statements, and conditions by a remainder or a list of values.
SQL = re.compile(
    r"\b(SELECT\s|INSERT INTO|DELETE FROM|CREATE (OR|TABLE|TEMP)|UPDATE \S+ SET)|\bFROM \S|% 0 = 0"
)


@cache
def texts(path: Path) -> str:
    """The texts of a module, docstrings and what is filled in aside."""
    tree = ast.parse((ROOT / path).read_text())
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [
        "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "0"
            for part in (node.values if isinstance(node, ast.JoinedStr) else [node])
        )
        for node in ast.walk(tree)
        if id(node) not in statements and isinstance(node, ast.JoinedStr | ast.Constant)
    ]
    return "\n".join(found)


def imports() -> dict[str, set[str]]:
    """Each module → those that it imports: at its top, for types only, inside functions, and by name."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for module, path in paths.items():
        named: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                inner = {f"{node.module}.{alias.name}" for alias in node.names} & paths.keys()
                named |= inner or {node.module}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
                named.add(node.value)
        found[module] = (named & paths.keys()) - {module}
    return found


def test_sql_text_is_in_the_store_only() -> None:
    found = {
        folder: {path for path in modules() if path.as_posix().startswith(folder) and SQL.search(texts(path))}
        for folder in ("pipeline/store/", "pipeline/", "api/", "engine/", "truelift/")
    }
    assert len(found["pipeline/store/"]) > 20
    assert found["pipeline/"] == found["pipeline/store/"]
    assert not found["api/"] | found["truelift/"]
    assert not found["engine/"]


def test_temporary_tables_are_known_by_name_in_one_module_only() -> None:
    stored = {path: texts(path) for path in modules() if path.as_posix().startswith("pipeline/store/")}
    created = {
        (path, name)
        for path, text in stored.items()
        for name in re.findall(r"TEMP TABLE (?:IF NOT EXISTS )?([a-z_]+)", text)
    }
    assert len(created) > 20
    assert [
        (name, other.as_posix())
        for path, name in created
        for other, text in stored.items()
        if other != path and re.search(rf"(?:FROM|JOIN|INTO) {name}\b", text)
    ] == []


def test_types_are_described_to_msgspec_by_one_thread_at_a_time() -> None:
    def describes_a_type(call: ast.Call) -> bool:
        name = ast.unparse(call.func)
        return name == "msgspec.convert" or (
            name.startswith("msgspec.")
            and name.endswith("decode")
            and any(one.arg == "type" for one in call.keywords)
        )

    found = {
        path.as_posix()
        for path in modules()
        if "msgspec." in (source := (ROOT / path).read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and describes_a_type(node)
    }
    assert found == {"engine/typed_records.py"}, "use engine.typed_records, or a decoder made at import"


def test_no_modules_import_each_other_in_a_circle_however_hidden() -> None:
    graph = imports()
    assert len(graph) > 500
    assert graph["engine"] == {"engine.shown_result", "engine.display.displays"}
    with pytest.raises(CycleError):
        TopologicalSorter(graph | {"engine.shown_result": {"engine.display.displays"}}).prepare()
    TopologicalSorter(graph).prepare()
