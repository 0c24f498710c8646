"""The catalog: one database of accounts, projects and experiments, shared by several processes."""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import select

from pipeline.settings import Settings
from pipeline.store.catalog.accounts import Accounts
from pipeline.store.catalog.audit import Audit
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError, CatalogError
from pipeline.store.catalog.experiments import Experiments
from pipeline.store.catalog.idempotency import IdempotencyKeys
from pipeline.store.catalog.keys import Keys
from pipeline.store.catalog.members import Members
from pipeline.store.catalog.migrate import migrate
from pipeline.store.catalog.projects import Projects
from pipeline.store.catalog.recorded_looks import RecordedLooks


@dataclass(frozen=True, slots=True)
class Catalog:
    """Repositories of the catalog, safe to share between threads."""

    database: Database
    accounts: Accounts
    members: Members
    keys: Keys
    projects: Projects
    experiments: Experiments
    recorded_looks: RecordedLooks
    audit: Audit
    idempotency_keys: IdempotencyKeys

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open the catalog of the settings, and create or migrate its tables; CatalogError."""
        if settings.catalog_url is None:
            settings.data_dir.mkdir(parents=True, exist_ok=True)
        database = Database(settings.effective_catalog_url)
        try:
            migrate(database)
        except CatalogBusyError as error:
            database.close()
            # The operator needs the cause, which callers of the service do not see.
            why = getattr(error.__cause__, "orig", error)
            raise CatalogError(f"the catalog cannot be opened: {why}") from error
        except BaseException:
            database.close()
            raise
        return cls(
            database=database,
            accounts=Accounts(database),
            members=Members(database),
            keys=Keys(database),
            projects=Projects(database),
            experiments=Experiments(database),
            recorded_looks=RecordedLooks(database),
            audit=Audit(database),
            idempotency_keys=IdempotencyKeys(database),
        )

    def ping(self) -> None:
        """Query the database once; raises the error of a database that does not answer."""
        with self.database.read() as connection:
            connection.execute(select(1))

    def close(self) -> None:
        """Close every connection; the catalog cannot be used afterwards."""
        self.database.close()
