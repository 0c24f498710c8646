"""Notebooks: every one runs from start to end and prints its committed outputs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.util import run_sync

import truelift

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST_BYTES = 200_000
# The folder that the notebook looks in.
HILLSTROM = ROOT.parent / "shared" / "data" / "hillstrom.csv"

# Those that sample, simulate or start a service.
LONG = {
    "06_segments_with_partial_pooling": 24,
    "08_a_bandit": 13,
    "09_reading_a_running_service": 15,
    "10_from_a_lake_to_a_verdict": 4,
    "11_metrics_of_your_own": 3,
}
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no types


def printed(notebook: Any) -> list[str]:
    """Return the printed text of each code cell."""
    return [
        "".join(output.text for output in cell.outputs if output.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@each_notebook
def test_outputs_are_committed_and_small_and_name_no_machine(path: Path) -> None:
    text = path.read_text()
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert len(text.encode()) < MOST_BYTES
    assert not re.search(r"/(home|root|Users|tmp|work|usr)/", text)


@each_notebook
def test_each_chapter_has_a_question_a_picture_and_an_answer(path: Path) -> None:
    words = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    assert "?" in words.partition("\n##")[0]
    assert "\n## The answer\n" in words
    kept = [
        output.data for cell in read(path).cells for output in cell.get("outputs", []) if "data" in output
    ]
    charts = [data for data in kept if "application/vnd.vegalite.v6+json" in data]
    assert charts
    # Pages without Vega, such as GitHub's, show the picture beside the data.
    assert all({"image/svg+xml", "image/png"} & data.keys() for data in charts)


@each_notebook
def test_notebooks_use_the_public_package_alone(path: Path) -> None:
    code = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    imported = {
        name.partition(".")[0]
        for line in ast.walk(ast.parse(code))
        if isinstance(line, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in line.names] if isinstance(line, ast.Import) else [str(line.module)]
        )
    }
    assert "truelift" in imported
    assert imported.isdisjoint({"engine", "pipeline", "api"})
    used = set(re.findall(r"truelift\.(\w+)", code))
    assert used
    assert used <= {*truelift.__all__}


@pytest.fixture(scope="module")
def kernel() -> Iterator[AsyncKernelManager]:
    """Return the one kernel of all notebooks: it imports what they import once."""
    manager = AsyncKernelManager(kernel_name="python3")
    run_sync(manager.start_kernel)(cwd=str(ROOT / "notebooks"))
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.long(seconds=LONG[path.stem])] if path.stem in LONG else [])
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_notebook_runs_and_prints_what_was_committed(path: Path, kernel: AsyncKernelManager) -> None:
    committed, again = read(path), read(path)
    again.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))  # type: ignore[no-untyped-call]
    client = NotebookClient(again, km=kernel, timeout=600)
    try:
        client.execute()
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
    del again.cells[0]
    if "hillstrom.csv" in path.read_text() and not HILLSTROM.is_file():
        # The notebook then generates customers, and its numbers are others.
        assert [bool(text) for text in printed(again)] == [bool(text) for text in printed(committed)]
    else:
        assert printed(again) == printed(committed)
