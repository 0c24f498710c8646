"""The catalog: one database of accounts, projects and experiments, shared by several processes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from pipeline.settings import Settings
from pipeline.store.catalog.accounts import Accounts
from pipeline.store.catalog.audit import Audit
from pipeline.store.catalog.backends import opening_error, sqlite_path
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.catalog.exclusion.group_repository import ExclusionGroups
from pipeline.store.catalog.experiment_listings import ExperimentListings
from pipeline.store.catalog.experiments import Experiments
from pipeline.store.catalog.holdouts import Holdouts
from pipeline.store.catalog.idempotency import IdempotencyKeys
from pipeline.store.catalog.job_records import JobRecords
from pipeline.store.catalog.kept_verdicts import KeptVerdicts
from pipeline.store.catalog.keys import Keys
from pipeline.store.catalog.members import Members
from pipeline.store.catalog.metrics.metric_repository import Metrics
from pipeline.store.catalog.migrate import migrate
from pipeline.store.catalog.projects import Projects
from pipeline.store.catalog.recorded_looks import RecordedLooks
from pipeline.store.catalog.refused_keys import RefusedKeys
from pipeline.store.catalog.runs.run_repository import Runs
from pipeline.store.catalog.sharing.share_link_repository import ShareLinks
from pipeline.store.catalog.sign_in.session_repository import Sessions
from pipeline.store.catalog.sign_in.sign_in_links import SignInLinks
from pipeline.store.catalog.webhooks.announced_results import AnnouncedResults
from pipeline.store.catalog.webhooks.channel_queue import ChannelMessages
from pipeline.store.catalog.webhooks.delivery_repository import Deliveries
from pipeline.store.catalog.webhooks.webhook_records import CHANNEL_KINDS
from pipeline.store.catalog.webhooks.webhook_repository import Webhooks
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.ownership.content_mark import note_content
from pipeline.store.ownership.damage import DamagedStoreError
from pipeline.store.ownership.warehouse_record import Warehouses
from pipeline.store.private_files import FolderError, make_private_file, make_private_folder, restrict


@dataclass(frozen=True, slots=True)
class Catalog:
    """Repositories of the catalog, safe to share between threads."""

    database: Database
    accounts: Accounts
    members: Members
    keys: Keys
    refused_keys: RefusedKeys
    projects: Projects
    experiments: Experiments
    experiment_listings: ExperimentListings
    holdouts: Holdouts
    metrics: Metrics
    exclusion_groups: ExclusionGroups
    recorded_looks: RecordedLooks
    kept_verdicts: KeptVerdicts
    runs: Runs
    job_records: JobRecords
    audit: Audit
    sessions: Sessions
    sign_in_links: SignInLinks
    share_links: ShareLinks
    webhooks: Webhooks
    notification_channels: Webhooks
    deliveries: Deliveries
    announced_results: AnnouncedResults
    channel_messages: ChannelMessages
    idempotency_keys: IdempotencyKeys
    warehouses: Warehouses

    @classmethod
    def open(cls, settings: Settings, *, accept_loss: bool = False) -> Self:
        """Open the catalog of the settings and create or migrate its tables.

        Raises:
            CatalogError: the database cannot be reached, or is of a newer version.
            DamagedStoreError: the file or commits are missing, and `accept_loss` is false.
            FolderError: the data folder cannot be created or written to.
        """
        path = sqlite_path(settings.effective_catalog_url)
        # A store has a folder of its own wherever its catalog is.
        _make_folder(settings.data_dir)
        if path is not None:
            if not accept_loss:
                _require_file(path, settings.warehouse_path)
            _prepare_file(path)
        database = Database(settings.effective_catalog_url)
        try:
            database.require_commits(accept_loss=accept_loss)
            migrate(database)
        except (CatalogBusyError, SQLAlchemyError) as error:
            database.close()
            # The operator needs the cause, which callers of the service do not see.
            raise opening_error(error) from error
        except BaseException:
            database.close()
            raise
        return cls(
            database=database,
            accounts=Accounts(database),
            members=Members(database),
            keys=Keys(database),
            refused_keys=RefusedKeys(database),
            projects=Projects(database),
            experiments=Experiments(database),
            experiment_listings=ExperimentListings(database),
            holdouts=Holdouts(database),
            metrics=Metrics(database),
            exclusion_groups=ExclusionGroups(database),
            recorded_looks=RecordedLooks(database),
            kept_verdicts=KeptVerdicts(database),
            runs=Runs(database),
            job_records=JobRecords(database),
            audit=Audit(database),
            sessions=Sessions(database),
            sign_in_links=SignInLinks(database),
            share_links=ShareLinks(database),
            webhooks=Webhooks(database),
            notification_channels=Webhooks(database, CHANNEL_KINDS, noun="notification channel"),
            deliveries=Deliveries(database),
            announced_results=AnnouncedResults(database),
            channel_messages=ChannelMessages(database),
            idempotency_keys=IdempotencyKeys(database),
            warehouses=Warehouses(database),
        )

    def ping(self) -> None:
        """Query the database once; raises the error of a database that does not answer."""
        with self.database.read() as connection:
            connection.execute(select(1))
        self.database.require_in_place()

    def close(self) -> None:
        """Close every connection; the catalog cannot be used afterwards."""
        self.database.close()
        if self.database.path is not None:
            note_content(self.database.path)


def _require_file(path: Path, warehouse: Path) -> None:
    """Raise DamagedStoreError where the catalog's file was removed; a new one would hide the loss."""
    if not path.exists() and (warehouse.exists() or CommitMark(path).read()):
        raise DamagedStoreError(f"the catalog {path} is missing, and the rest of its store is there")


def _make_folder(folder: Path) -> None:
    try:
        make_private_folder(folder)
    except OSError as error:
        raise FolderError(folder, error) from error


def _prepare_file(path: Path) -> None:
    """Create the file of a catalog where it is absent, and hide it and its log from other users."""
    _make_folder(path.parent)
    try:
        # SQLite gives its log and its index the mode of the file.
        make_private_file(path)
    except OSError as error:
        raise FolderError(path.parent, error) from error
    restrict(path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))
