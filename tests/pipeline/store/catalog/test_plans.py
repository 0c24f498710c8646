from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.plans import PLANS, SERVED_STATUSES, SUBSCRIPTION_STATUSES


def test_a_larger_plan_allows_more() -> None:
    starter, growth, scale = PLANS["starter"], PLANS["growth"], PLANS["scale"]
    assert starter.max_projects < growth.max_projects < scale.max_projects
    assert starter.rate_limit_per_minute < growth.rate_limit_per_minute < scale.rate_limit_per_minute


def test_an_account_is_served_while_its_subscription_lasts(catalog: Catalog) -> None:
    account, *_ = catalog.accounts.create("Acme", "owner@acme.example")
    for status in SUBSCRIPTION_STATUSES:
        updated = catalog.accounts.update(account.id, subscription_status=status)
        assert updated.is_served == (status in SERVED_STATUSES)
