"""A catalog on disk, with an account in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.ids import new_id, new_sdk_key
from tests.builders import a_project


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
def catalog(settings: Settings) -> Iterator[Catalog]:
    opened = Catalog.open(settings)
    yield opened
    opened.close()


@pytest.fixture
def account(catalog: Catalog) -> Account:
    return catalog.accounts.create("Acme", "owner@acme.example", "growth")[0]


@pytest.fixture
def project_id(catalog: Catalog, account: Account) -> str:
    project = a_project(id=new_id("prj"), account_id=account.id, sdk_key=new_sdk_key())
    return catalog.projects.create(project, actor="test").id
