"""State tables in databases of others: their rows, and marks of how far each counts."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pipeline.store.source_databases.queries import RunStatement

_IDS: Final = ("experiment", "project", "source", "digest")
MARK_TIMES: Final = ("until_us", "arrived_us", "whole_us")


def make_marks(run: RunStatement, marks: str) -> None:
    """Create the table of marks where there is none; names are quoted."""
    columns = [*(f"{one} VARCHAR(200)" for one in _IDS), *(f"{one} BIGINT" for one in MARK_TIMES)]
    run(f"CREATE TABLE IF NOT EXISTS {marks} ({', '.join(columns)})")


def find_marks(run: RunStatement, marks: str, experiment_id: str, digest: str) -> list[tuple[Any, ...]]:
    """Find the MARK_TIMES of an experiment by its rules."""
    return run(
        f"SELECT {', '.join(MARK_TIMES)} FROM {marks} "  # quoted
        f"WHERE experiment = {_text(experiment_id)} AND digest = {_text(digest)}"
    )


def marked_experiments(run: RunStatement, marks: str, project_id: str, source: str) -> list[str]:
    """List the experiments of a source that have a state."""
    found = run(
        f"SELECT experiment FROM {marks} "  # quoted
        f"WHERE project = {_text(project_id)} AND source = {_text(source)}"
    )
    return [str(experiment) for (experiment,) in found]


def remove_mark(run: RunStatement, marks: str, experiment_id: str) -> None:
    """Remove the mark of an experiment, if it has one."""
    run(f"DELETE FROM {marks} WHERE experiment = {_text(experiment_id)}")  # quoted


def write_mark(run: RunStatement, marks: str, ids: Sequence[str], times: Iterable[int]) -> None:
    """Replace the mark of an experiment: its id, project, source and digest, and MARK_TIMES."""
    remove_mark(run, marks, ids[0])
    values = [*map(_text, ids), *map(str, times)]
    run(f"INSERT INTO {marks} VALUES ({', '.join(values)})")  # quoted


def count_tables(run: RunStatement, schema: str, names: Iterable[str]) -> int:
    """Count the tables of these names that a schema has."""
    found = run(
        "SELECT count(*) FROM information_schema.tables "  # quoted
        f"WHERE table_schema = {_text(schema)} AND table_name IN ({', '.join(map(_text, names))})"
    )
    return int(found[0][0])


def drop_table(run: RunStatement, name: str) -> None:
    """Drop a table, if it exists."""
    run(f"DROP TABLE IF EXISTS {name}")


def make_table(run: RunStatement, name: str, query: str, *, is_temporary: bool = False) -> None:
    """Create a table of the rows of a query."""
    run(f"CREATE {'TEMP ' if is_temporary else ''}TABLE {name} AS {query}")


def replace_visitors(run: RunStatement, name: str, touched: str, query: str) -> None:
    """Replace the rows of the visitors in the table `touched` by those of a query."""
    run(f"DELETE FROM {name} WHERE visitor IN (SELECT visitor FROM {touched})")  # quoted
    run(f"INSERT INTO {name} {query}")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
