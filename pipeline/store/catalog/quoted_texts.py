"""Tables of the catalog that may quote texts of visitors, and the replacement of such texts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, select

from engine.design.project import Project
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.schema import (
    experiments,
    kept_verdicts,
    replies,
    runs,
    webhook_deliveries,
    webhooks,
)

# Returns a value without the texts of a person: an equal one where it has none.
Blank = Callable[[Any], Any]


class _Quoting(NamedTuple):
    """A table whose `columns` may quote, and the condition of a project's rows."""

    table: Table
    columns: tuple[str, ...]
    of: Callable[[Project], ColumnElement[bool]]


_TABLES: Final = {
    one.table.name: one
    for one in (
        # The parameters of the others are still to be carried out.
        _Quoting(
            runs,
            ("parameters", "progress", "result", "error"),
            lambda project: (runs.c.project_id == project.id) & runs.c.status.not_in(("queued", "running")),
        ),
        _Quoting(
            webhook_deliveries,
            ("content", "error"),
            lambda project: webhook_deliveries.c.webhook_id.in_(
                select(webhooks.c.id).where(webhooks.c.project_id == project.id)
            ),
        ),
        _Quoting(
            replies,
            ("sealed",),
            lambda project: (replies.c.account_id == project.account_id) & replies.c.sealed.is_not(None),
        ),
        _Quoting(
            kept_verdicts,
            ("document",),
            lambda project: kept_verdicts.c.experiment_id.in_(
                select(experiments.c.id).where(experiments.c.project_id == project.id)
            ),
        ),
    )
}


def blank_table(database: Database, name: str, project: Project, blank: Blank) -> None:
    """Replace texts in the rows of a table about a project."""
    table = _TABLES[name].table
    with database.write() as connection:
        for row, changes in list(_changes(connection, name, project, blank)):
            keys = [column == row[column.name] for column in table.primary_key]
            connection.execute(table.update().where(*keys).values(changes))


def count_quoting(database: Database, name: str, project: Project, blank: Blank) -> int:
    """Count the rows of a table about a project in which texts would be replaced."""
    with database.read() as connection:
        return sum(1 for _ in _changes(connection, name, project, blank))


def _changes(
    connection: Connection, name: str, project: Project, blank: Blank
) -> Iterator[tuple[RowMapping, Mapping[str, Any]]]:
    table, columns, of = _TABLES[name]
    for row in connection.execute(select(table).where(of(project))).mappings():
        values = {column: row[column] for column in columns if row[column] is not None}
        changes = {column: new for column, value in values.items() if (new := blank(value)) != value}
        if changes:
            yield row, changes
