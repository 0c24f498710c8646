"""Migration of the catalog's tables."""

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_mock_engine,
    inspect,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from pipeline.store.catalog.backends import lock_until_commit, sqlite_path
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.catalog.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

# The newest revision in migrations/versions; kept here so that opening need not import Alembic.
HEAD: Final = "0028"
# Alembic's own table, as its revisions make it.
_VERSION: Final = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


class CatalogVersionError(CatalogError):
    """The catalog was created by a newer version of the program."""


def migrate(database: Database) -> None:
    """Migrate the tables to HEAD; of several processes at once, one does so."""
    with database.read() as connection:
        if _revision(connection) == HEAD:
            return
    with database.write() as connection:
        lock_until_commit(connection, "migration")
        revision = _revision(connection)
        if revision is None and not inspect(connection).get_table_names():
            _create(connection)
        elif revision != HEAD:
            _upgrade(connection)


def needs_migration(url: str) -> bool:
    """Tell whether there is a catalog of an earlier version; False too where none can be opened."""
    path = sqlite_path(url)
    if path is not None and not path.exists():
        return False
    try:
        database = Database(url, 1)
        try:
            with database.read() as connection:
                return bool(inspect(connection).get_table_names()) and _revision(connection) != HEAD
        finally:
            database.close()
    except (CatalogError, SQLAlchemyError):
        # Opening the store says what is wrong.
        return False


def revisions_of(connection: Connection) -> "Config":
    """Configure Alembic's commands to work in the connection's transaction."""
    # Alembic is slow to import, and a catalog that is up to date does not need it.
    from alembic.config import Config  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", "pipeline.store.catalog:migrations")
    config.attributes["connection"] = connection
    return config


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if revision is not None and revision > HEAD:
        raise CatalogVersionError(
            f"the catalog is at revision {revision} and this version knows up to {HEAD}; update the program"
        )
    return revision


def _create(connection: Connection) -> None:
    """Create the tables of HEAD at once, without the revisions that led to them."""
    for statement in _statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(_VERSION.insert().values(version_num=HEAD))


@cache
def _statements(dialect: str) -> tuple[str, ...]:
    """Write the statements that create the tables, which takes longer than to run them."""
    statements: list[str] = []

    def write(statement: Any, *_: object) -> None:  # noqa: ANN401 - of any class with DDL
        statements.append(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine(f"{dialect}://", write)
    # Named for one dialect at the table, SQLAlchemy would import that of the other database, too.
    for index in (one for table in metadata.tables.values() for one in table.indexes if "where" in one.info):
        index.dialect_options[dialect]["where"] = index.info["where"]
    for tables in (metadata, _VERSION.metadata):
        tables.create_all(engine, checkfirst=False)
    return tuple(statements)


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - see above

    if connection.dialect.name == "postgresql":
        # Not at the top: the driver is an extra.
        from pipeline.store.postgresql import unlimited  # noqa: PLC0415 - see above

        with unlimited(connection):
            command.upgrade(revisions_of(connection), "head")
    else:
        command.upgrade(revisions_of(connection), "head")
