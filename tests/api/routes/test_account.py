from sqlalchemy import update

from api.services import Services
from pipeline.store.catalog.schema import members
from tests.api.customers import Customer


def test_account_says_what_it_is_and_what_it_may_do(customer: Customer) -> None:
    account = customer.account
    assert customer.get("/account").json() == {
        "data": {
            "id": account.id,
            "name": "Acme",
            "slug": account.slug,
            "plan": "scale",
            "plan_name": "Scale",
            "subscription_status": "active",
            "rate_limit_per_minute": 2000,
        }
    }


def test_accounts_own_limits_stand_in_the_place_of_the_plans(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, rate_limit=7000, max_projects=2)
    assert customer.get("/account").json()["data"]["rate_limit_per_minute"] == 7000
    usage = customer.get("/account/usage").json()["data"]
    assert (usage["rate_limit_per_minute"], usage["max_projects"]) == (7000, 2)


def test_members_are_those_who_accepted_and_come_without_pages(
    customer: Customer, services: Services
) -> None:
    catalog = services.catalog
    owner = catalog.members.accepted(customer.account.id)[0]
    ada = catalog.members.add(customer.account.id, "ada@acme.example", "Ada", "member")
    invited = catalog.members.add(customer.account.id, "bob@acme.example", "Bob", "admin")
    with catalog.database.write() as connection:
        connection.execute(update(members).where(members.c.id == invited.id).values(accepted_at=None))
    assert customer.get("/account/members").json() == {
        "data": [
            {"id": owner.id, "name": "owner", "email_address": "owner@acme.example", "role": "owner"},
            {"id": ada.id, "name": "Ada", "email_address": "ada@acme.example", "role": "member"},
        ]
    }


def test_usage_counts_the_projects_down(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, plan="starter")
    remaining = []
    for _ in range(3):
        remaining.append(customer.get("/account/usage").json()["data"]["projects_remaining"])
        customer.a_project()
    assert remaining == [3, 2, 1]
    assert customer.get("/account/usage").json() == {
        "data": {
            "plan": "starter",
            "plan_name": "Starter",
            "projects_count": 3,
            "projects_remaining": 0,
            "max_projects": 3,
            "rate_limit_per_minute": 100,
        }
    }


def test_smaller_plan_leaves_no_fewer_than_none(customer: Customer, services: Services) -> None:
    for _ in range(4):
        customer.a_project()
    services.catalog.accounts.update(customer.account.id, plan="starter")
    usage = customer.get("/account/usage").json()["data"]
    assert (usage["projects_count"], usage["projects_remaining"]) == (4, 0)
