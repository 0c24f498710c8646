"""Outputs of the notebooks, made anew: `make notebooks` runs each from start to end and rewrites it."""

import sys
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

FOLDER: Final = Path(__file__).parents[2] / "notebooks"
# Data that the notebook about them reads; without the file its numbers would be those of made-up customers.
HILLSTROM: Final = FOLDER.parents[1] / "shared" / "data" / "hillstrom.csv"
# Longer than the slowest one takes on a busy machine.
MOST_SECONDS: Final = 900


def run(path: Path) -> None:
    """Run a notebook in a kernel of its own, and write its outputs in place."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no types
    language = dict(notebook.metadata["language_info"])
    client = NotebookClient(
        notebook,
        timeout=MOST_SECONDS,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    # The same whatever Python has run it.
    notebook.metadata["language_info"] = language
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]  # same


def main(names: list[str]) -> None:
    """Run the notebooks whose names begin so, or all."""
    chosen = [path for path in sorted(FOLDER.glob("*.ipynb")) if path.stem.startswith(tuple(names) or "")]
    if not chosen:
        sys.exit(f"no notebook begins with {' or '.join(names)}")
    for path in chosen:
        if HILLSTROM.name in path.read_text("utf-8") and not HILLSTROM.is_file():
            print(f"{path.stem} stays as it is: there is no {HILLSTROM}")  # noqa: T201 - tells how far it is
            continue
        print(path.stem, flush=True)  # noqa: T201 - same
        run(path)


if __name__ == "__main__":
    main(sys.argv[1:])
