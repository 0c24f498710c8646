import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select, text

from engine.design.conclusion import Rollout
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.migrate import HEAD, CatalogVersionError, revisions_of
from pipeline.store.catalog.schema import experiment_listings, metadata
from tests.builders import STARTED, an_experiment

ROOT = Path(__file__).parents[4]
OPEN_AND_CREATE = """
import sys
from pathlib import Path
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
catalog = Catalog.open(Settings(data_dir=Path(sys.argv[1])))
catalog.accounts.create("Acme", "owner@acme.example")
catalog.close()
"""


def test_head_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", "pipeline.store.catalog:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_revisions_lead_to_the_tables_that_the_code_expects(catalog: Catalog) -> None:
    with catalog.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def tables_of(connection: Connection) -> dict[str, Any]:
    """Describe every table: columns in any order, keys, indexes and constraints."""
    found, tables = inspect(connection), {}
    for name in found.get_table_names():
        columns = {
            column["name"]: (str(column["type"]), column["nullable"], column["default"])
            for column in found.get_columns(name)
        }
        indexes = sorted(
            (str(index["name"]), index["column_names"], index["unique"], conditions_of(index))
            for index in found.get_indexes(name)
        )
        keys = [found.get_pk_constraint(name), *found.get_foreign_keys(name)]
        tables[name] = (columns, indexes, keys, sorted(map(str, found.get_unique_constraints(name))))
    return tables


def conditions_of(index: Any) -> dict[str, str]:
    return {name: str(value) for name, value in index.get("dialect_options", {}).items()}


def test_a_new_catalog_has_the_tables_that_the_revisions_lead_to(catalog: Catalog) -> None:
    with catalog.database.write() as connection:
        created, revisions = tables_of(connection), revisions_of(connection)
        assert len(created) > 10
        command.downgrade(revisions, "base")
        command.upgrade(revisions, "head")
        assert tables_of(connection) == created


def test_revisions_can_be_taken_back_one_by_one_and_made_again(catalog: Catalog) -> None:
    with catalog.database.write() as connection:
        revisions = revisions_of(connection)
        for _ in ScriptDirectory.from_config(revisions).walk_revisions():
            command.downgrade(revisions, "-1")
        assert inspect(connection).get_table_names() == ["alembic_version"]
        command.upgrade(revisions, "head")
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    catalog.accounts.create("Acme", "owner@acme.example")


def test_catalog_of_before_recorded_looks_is_upgraded_with_its_contents(
    catalog: Catalog, settings: Settings, project_id: str
) -> None:
    rollout = Rollout(id="rol_1", variant_id="var_1", started_at=STARTED)
    experiment = an_experiment(
        project_id=project_id, status="completed", assigned_user_ids=("mem_1",), rollout=rollout
    )
    catalog.experiments.create(project_id, lambda _: experiment, actor="test")
    with catalog.database.write() as connection:
        listed = connection.execute(select(experiment_listings)).one()
        assert listed.rolled_out_at == STARTED
        command.downgrade(revisions_of(connection), "0002")
        assert not inspect(connection).has_table("recorded_looks")
    upgraded = Catalog.open(settings)
    with upgraded.database.read() as connection:
        assert connection.execute(select(experiment_listings)).one() == listed
    assert upgraded.experiments.get(project_id, experiment.id) == experiment
    assert upgraded.recorded_looks.of(experiment.id) == ()
    upgraded.close()


def test_opening_again_finds_everything_there(settings: Settings) -> None:
    first = Catalog.open(settings)
    account, _, _ = first.accounts.create("Acme", "owner@acme.example")
    first.close()
    second = Catalog.open(settings)
    assert second.accounts.all() == [account]
    second.close()


def test_catalog_of_a_newer_version_is_left_alone(catalog: Catalog, settings: Settings) -> None:
    with catalog.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(CatalogVersionError, match="update the program"):
        Catalog.open(settings)


@pytest.mark.long(seconds=3)
def test_processes_that_open_a_new_catalog_at_once_all_succeed(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN_AND_CREATE, str(tmp_path)], cwd=ROOT) for _ in range(3)
    ]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    catalog = Catalog.open(Settings(data_dir=tmp_path))
    assert [account.slug for account in catalog.accounts.all()] == ["acme", "acme-2", "acme-3"]
    catalog.close()
