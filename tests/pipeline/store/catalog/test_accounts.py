import pytest

from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError, NotFoundError


@pytest.mark.parametrize(
    ("plan", "name", "projects", "rate"),
    [("starter", "Starter", 3, 100), ("growth", "Growth", 10, 500), ("scale", "Scale", 50, 2_000)],
)
def test_plan_sets_the_allowances(catalog: Catalog, plan: str, name: str, projects: int, rate: int) -> None:
    account, _, _ = catalog.accounts.create("Acme", "owner@acme.example", plan)
    assert (account.plan_name, account.max_projects, account.rate_limit_per_minute) == (name, projects, rate)


def test_new_account_has_an_owner_and_is_served(catalog: Catalog) -> None:
    account, owner, _ = catalog.accounts.create("Acme", "Owner@Acme.example")
    assert account.is_served
    assert (owner.role, owner.email_address) == ("owner", "owner@acme.example")
    assert catalog.members.accepted(account.id) == [owner]


def test_slugs_of_accounts_differ(catalog: Catalog) -> None:
    slugs = [catalog.accounts.create("Café Zoë", "owner@acme.example")[0].slug for _ in range(3)]
    assert slugs == ["cafe-zoe", "cafe-zoe-2", "cafe-zoe-3"]


def test_account_whose_name_has_no_letters_has_a_slug(catalog: Catalog) -> None:
    assert catalog.accounts.create("株式会社", "owner@acme.example")[0].slug == "account"


def test_override_wins_over_the_plan_and_outlives_a_change_of_plan(
    catalog: Catalog, account: Account
) -> None:
    catalog.accounts.update(account.id, max_projects=1, rate_limit=7)
    updated = catalog.accounts.update(account.id, plan="scale")
    assert (updated.max_projects, updated.rate_limit_per_minute) == (1, 7)
    assert catalog.accounts.get(account.id) == updated


@pytest.mark.parametrize(
    ("status", "served"),
    [
        ("active", True),
        ("trialing", True),
        ("past_due", True),
        ("canceled", False),
        ("unpaid", False),
        ("incomplete_expired", False),
        ("paused", False),
    ],
)
def test_subscription_status_decides_whether_an_account_is_served(
    catalog: Catalog, account: Account, status: str, *, served: bool
) -> None:
    assert catalog.accounts.update(account.id, subscription_status=status).is_served is served


def test_update_names_every_problem_and_changes_nothing(catalog: Catalog, account: Account) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        catalog.accounts.update(account.id, plan="gold", subscription_status="fine", rate_limit=0)
    assert [problem.field for problem in caught.value.problems] == [
        "plan",
        "subscription_status",
        "rate_limit",
    ]
    assert catalog.accounts.get(account.id) == account


def test_account_without_a_sound_owner_is_not_created(catalog: Catalog) -> None:
    with pytest.raises(InvalidRecordError):
        catalog.accounts.create("Acme", "not an address")
    assert catalog.accounts.all() == []


def test_unknown_account_is_not_found(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError):
        catalog.accounts.update("acc_nobody", plan="scale")
