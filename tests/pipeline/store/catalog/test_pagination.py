import pytest

from pipeline.store.catalog.catalog import Catalog
from tests.builders import a_project


@pytest.mark.parametrize(("page", "count"), [(1, 2), (2, 1), (3, 0), (10**30, 0)])
def test_a_page_has_its_items_and_the_total(catalog: Catalog, page: int, count: int) -> None:
    account, *_ = catalog.accounts.create("Acme", "owner@acme.example", "scale")
    for number in range(3):
        fields = {"id": f"prj_{number}", "sdk_key": f"pk_{number}", "account_id": account.id}
        catalog.projects.create(a_project(**fields), actor="test")
    found = catalog.projects.page(account.id, page=page, per_page=2)
    assert (len(found.items), found.page, found.per_page, found.total) == (count, page, 2, 3)
