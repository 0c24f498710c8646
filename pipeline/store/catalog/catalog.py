"""The catalog: what people have set up, in one small database that several processes may use at once."""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import select

from pipeline.settings import Settings
from pipeline.store.catalog.accounts import Accounts
from pipeline.store.catalog.audit import Audit
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError, CatalogError
from pipeline.store.catalog.experiments import Experiments
from pipeline.store.catalog.idempotency import Replies
from pipeline.store.catalog.keys import Keys
from pipeline.store.catalog.members import Members
from pipeline.store.catalog.migrate import migrate
from pipeline.store.catalog.projects import Projects


@dataclass(frozen=True, slots=True)
class Catalog:
    """One collection per kind of thing; safe to share between threads."""

    database: Database
    accounts: Accounts
    members: Members
    keys: Keys
    projects: Projects
    experiments: Experiments
    audit: Audit
    replies: Replies

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open the catalog that the settings name, its tables made or brought up to date."""
        if settings.catalog_url is None:
            settings.data_dir.mkdir(parents=True, exist_ok=True)
        database = Database(settings.effective_catalog_url)
        try:
            migrate(database)
        except CatalogBusyError as error:
            database.close()
            # Whoever opens it can mend what a caller of the service should not be told.
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
            audit=Audit(database),
            replies=Replies(database),
        )

    def ping(self) -> None:
        """Ask the database for an answer; raises what keeps it from giving one."""
        with self.database.read() as connection:
            connection.execute(select(1))

    def close(self) -> None:
        """Close every connection; the catalog cannot be used afterwards."""
        self.database.close()
