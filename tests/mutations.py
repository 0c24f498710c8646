"""Mutations of the source: how many of them the tests catch.

`python -m tests.mutations --coverage FILE --count 60 --seed 1` draws places in the source that tests run,
changes one at a time in a copy of the checkout, and runs the test files that run the line until one fails:
those next to it, as many as `--files` says. FILE has the data of a coverage run with test files as contexts.
With `--covered ROOT --drawn LIST` the same mutations are tried on another checkout than the one covered.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parent.parent
# Not caught: the tests may only be slow.
TIMED_OUT = "timed out"
PLACES = ("engine", "pipeline/rollup", "pipeline/ingest", "api/auth.py")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutation:
    """One changed line of a file."""

    path: str
    line: int
    before: str
    after: str


def mutations_of(path: str, source: str) -> Iterator[Mutation]:
    """Yield every mutation of a file: swapped operators, negated conditions, other numbers and truths."""
    for node in ast.walk(ast.parse(source)):
        for changed in changes_of(node):
            segment = ast.get_source_segment(source, node)
            if segment and "\n" not in segment:
                yield Mutation(path, getattr(node, "lineno", 0), segment, changed)


def changes_of(node: ast.AST) -> Iterator[str]:
    """Yield other expressions in the place of one."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in SWAPPED:
            yield ast.unparse(ast.Compare(left, [SWAPPED[type(operator)]()], [right]))  # type: ignore[list-item]
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SWAPPED:
            if not isinstance(left, ast.Constant) or not isinstance(left.value, str):
                yield f"({ast.unparse(ast.BinOp(left, SWAPPED[type(operator)](), right))})"  # type: ignore[arg-type]
        case ast.BoolOp(op=operator, values=values):
            yield f"({ast.unparse(ast.BoolOp(SWAPPED[type(operator)](), values))})"  # type: ignore[arg-type]
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() | float() as value):
            yield str(value + 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"bool({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield f"({ast.unparse(ast.IfExp(test, orelse, body))})"


def applied(source: str, mutation: Mutation) -> str:
    """Return the source with the mutation in its line."""
    lines = source.splitlines(keepends=True)
    lines[mutation.line - 1] = lines[mutation.line - 1].replace(mutation.before, mutation.after, 1)
    return "".join(lines)


@cache
def contexts_of(data: CoverageData, path: str) -> dict[int, list[str]]:
    """Return the contexts of each line of a file, read once."""
    return data.contexts_by_lineno(path)


def covering(data: CoverageData, root: Path, mutation: Mutation) -> list[str]:
    """Return the test files that run the line, first the one named after the module, then by name."""
    contexts = contexts_of(data, str(root / mutation.path)).get(mutation.line, [])
    stem = Path(mutation.path).stem
    found = {one for one in contexts if one}
    return sorted(found, key=lambda one: (f"test_{stem}" not in one, *nearness(mutation.path, one), one))


def nearness(path: str, test: str) -> tuple[int]:
    """Order test files by how many folders they share with a module."""
    ours, theirs = Path(path).parts[:-1], Path(test).parts[1:-1]
    return (-sum(one == other for one, other in zip(ours, theirs, strict=False)),)


def is_caught(root: Path, mutation: Mutation, tests: list[str], seconds: float) -> str:
    """Run the tests on a copy with the mutation; return the first test that fails, "" for none."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(
            root,
            copy,
            ignore=shutil.ignore_patterns(".git", ".venv", ".tools", "node_modules", "site", "data"),
        )
        shutil.copytree(root / "data" / "sample", copy / "data" / "sample")
        (copy / ".venv").symlink_to(root / ".venv")
        changed = copy / mutation.path
        changed.write_text(applied(changed.read_text(), mutation))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
        ]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        try:
            ran = subprocess.run(
                [*command, *tests],
                cwd=copy,
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return TIMED_OUT
        failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return (failed or ["ended with a failure"])[0] if ran.returncode == 1 else ""


def draw(data: CoverageData, root: Path, count: int, seed: int) -> list[Mutation]:
    """Draw as many mutations of each place, in lines that tests run."""
    draws = random.Random(seed)  # noqa: S311 - places in a source
    drawn = []
    for place in PLACES:
        found = root / place
        files = [found] if found.is_file() else sorted(found.rglob("*.py"))
        names = [file.relative_to(root).as_posix() for file in files]
        every = [one for name in names for one in mutations_of(name, (root / name).read_text())]
        covered = [one for one in every if covering(data, root, one)]
        drawn += draws.sample(covered, min(count // len(PLACES), len(covered)))
    return drawn


def main() -> None:
    """Draw mutations, and print for each whether it is caught, and by which test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coverage", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--covered", type=Path, help="the checkout that was covered, if not --root")
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--drawn", type=Path, help="keep the mutations in this file, or take those in it")
    given = parser.parse_args()
    data = CoverageData(str(given.coverage))
    data.read()
    covered = given.covered or given.root
    if given.drawn and given.drawn.exists():
        drawn = [Mutation(**one) for one in json.loads(given.drawn.read_text())]
    else:
        drawn = draw(data, covered, given.count, given.seed)
    if given.drawn:
        given.drawn.write_text(json.dumps([asdict(one) for one in drawn]))

    def judge(mutation: Mutation) -> str:
        tests = [one for one in covering(data, covered, mutation) if (given.root / one).exists()]
        return is_caught(given.root, mutation, tests[: given.files], given.seconds)

    caught = 0
    with ThreadPoolExecutor(2) as pool:
        for mutation, by in zip(drawn, pool.map(judge, drawn), strict=True):
            is_one = by not in {"", TIMED_OUT}
            caught += is_one
            what = f"{mutation.path}:{mutation.line} {mutation.before} -> {mutation.after}"
            print(f"{'caught' if is_one else 'MISSED'} {what} {by}", flush=True)  # noqa: T201 - its answer
    print(f"{caught} of {len(drawn)} mutations caught")  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
