"""Run every benchmark and print its ratios: same data, same run, a named peer each.

`python benchmarks/run.py [NAME ...]` runs only those named. An absolute time proves nothing on a shared
machine; the ratio is what to read.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

# By the folder of its module.
BENCHMARKS = {
    "warehouse": {
        "rollup": "rollup of raw events",
        "large_rollup": "rollup of 50 million raw events",
        "many_experiments": "rollup with many experiments",
        "identified_rollup": "rollup of raw events with user ids",
        "file_rollups": "rollup of files of events by several processes, and on Spark",
        "refresh": "refresh after new events",
        "nights": "night after new events, against a full count",
        "concurrent_tests": "comparison of tests that run at once",
        "filtered_results": "results over visitor rows",
        "disk": "disk of events with UUID ids",
        "imports": "import of Parquet files",
    },
    "service": {
        "start": "starts of the command line and of the service",
        "minutes": "jobs of a minute at 1,000 experiments, 10 of which have new visitors",
        "growth": "counted work at a million stored events, and at ten",
        "ingest": "acknowledged events over HTTP",
        "hostile_bodies": "other requests while a stranger sends hostile bodies",
        "largest_inputs": "pauses of the event loop at the largest inputs of every route",
        "init": "/sdk/init of new visitors, and the first one after a start",
        "rest_api": "requests of 64 clients, against no authentication and no store",
        "wide_experiment": "an experiment of 50 goals, 20 variants and 40 segment values over a year",
        "experiment_lists": "pages and answers that list 500 and 10,000 experiments",
        "results_page": "results page of an experiment with 200,000 visitors",
        "results_reads": "reads of results by 16 clients, against a read of a project",
    },
    "browser": {
        "page_load": "loads of a page with an experiment",
        "snippet_sizes": "bytes and requests of the browser script",
        "painted_frames": "frames of the original before the variant",
    },
    "comparisons": {
        "engine_comparisons": "15,000 comparisons in one call",
        "bayesian_comparisons": "15,000 pairs of Beta posteriors",
        "sequential_comparisons": "15,000 comparisons that may be looked at early",
        "cuped_comparisons": "15,000 comparisons with a covariate",
        "frames": "a DataFrame of a million visitors to a verdict",
        "file_analyses": "a file of 10 million rows to a verdict",
        "aa_tests": "A/A tests called better and worse, of twelve measures",
    },
}
# No table is wider.
FILE_COLUMNS = 400
FOLDERS = {name: folder for folder, benchmarks in BENCHMARKS.items() for name in benchmarks}


def main(names: list[str]) -> None:
    """Run the named benchmarks, or all of them, one after another."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    console = a_console()
    for name in names or FOLDERS:
        folder = FOLDERS[name]
        benchmark = importlib.import_module(f"benchmarks.{folder}.{name}")
        title = f"{name}: {BENCHMARKS[folder][name]}"
        # A long one gives its rows part by part, so that one that is stopped has printed what it measured.
        for rows in benchmark.run_in_parts() if hasattr(benchmark, "run_in_parts") else [benchmark.run()]:
            console.print(a_table(title, rows))


def a_console() -> Console:
    """Print as wide as the terminal, and without a limit where the output is none, such as a file."""
    return Console() if sys.stdout.isatty() else Console(width=FILE_COLUMNS)


def a_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """Lay out rows, which all have the same columns."""
    table = Table(title=title, title_justify="left")
    for heading in rows[0]:
        table.add_column(heading)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    return table


if __name__ == "__main__":
    main(sys.argv[1:])
