from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.requests.api_keys import create_key
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError
from pipeline.store.catalog.keys import ApiKey
from tests.builders import a_project


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog.open(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def creator(catalog: Catalog) -> ApiKey:
    """A key with two scopes, in an account with the project prj_1."""
    account, member, _ = catalog.accounts.create("Acme", "owner@acme.example", "scale")
    catalog.projects.create(a_project(account_id=account.id), actor="test")
    scopes = ["results:read", "api_keys:write"]
    return catalog.keys.create(account.id, member.id, "creator", scopes)[0]


def test_a_key_is_of_the_creating_keys_member(catalog: Catalog, creator: ApiKey) -> None:
    fields = {"name": "report", "scopes": ["results:read"], "project_ids": ["prj_1"]}
    key, token = create_key(catalog, creator, fields)
    assert (key.account_id, key.member_id) == (creator.account_id, creator.member_id)
    assert (key.scopes, key.project_ids, key.environment) == (("results:read",), ("prj_1",), "live")
    assert token.startswith(key.key_prefix)


def test_every_problem_is_named_at_once(catalog: Catalog, creator: ApiKey) -> None:
    fields = {"name": "", "scopes": ["results:read", "projects:write"], "project_ids": ["prj_9"]}
    with pytest.raises(InvalidRecordError) as invalid:
        create_key(catalog, creator, fields)
    assert {problem.field for problem in invalid.value.problems} == {
        "name",
        "scopes[1]",
        "project_ids[0]",
    }
    assert [key.id for key in catalog.keys.of_account(creator.account_id) if key.name != "First key"] == [
        creator.id
    ]


def test_a_key_needs_a_scope(catalog: Catalog, creator: ApiKey) -> None:
    with pytest.raises(InvalidRecordError, match="is empty; give some of"):
        create_key(catalog, creator, {"name": "none", "scopes": []})
