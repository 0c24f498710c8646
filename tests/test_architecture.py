"""The map is the territory: ARCHITECTURE.md lists the modules that exist, in their own words."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLOORS = ("engine", "pipeline", "api")
ROW = re.compile(r"^\| `([\w/]+\.py)` \| (.+) \|$", re.MULTILINE)


def modules() -> dict[str, str]:
    """Path of each module of the three floors → the first line of its docstring."""
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            if "__pycache__" in path.parts or "versions" in path.parts:
                continue
            docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
            found[path.relative_to(ROOT).as_posix()] = docstring.partition("\n")[0]
    return found


def test_architecture_lists_every_module_with_its_own_first_sentence() -> None:
    listed = dict(ROW.findall((ROOT / "ARCHITECTURE.md").read_text()))
    assert listed == modules()


def test_every_module_opens_with_one_sentence() -> None:
    silent = [path for path, sentence in modules().items() if not sentence.endswith((".", "?"))]
    assert silent == []


if __name__ == "__main__":
    # Prints the table anew: paste it under "The rooms".
    print("| module | what it decides |\n|---|---|")  # noqa: T201 - a script's output
    print("\n".join(f"| `{path}` | {sentence} |" for path, sentence in modules().items()))  # noqa: T201 - same
