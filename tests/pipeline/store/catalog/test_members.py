from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError, LastOwnerError, NotFoundError


def test_added_member_is_accepted(catalog: Catalog, account: Account) -> None:
    member = catalog.members.add(account.id, email=" Bo@Acme.example ", name="Bo", role="admin")
    assert member.email_address == "bo@acme.example"
    assert catalog.members.get(account.id, member.id) == member
    assert member in catalog.members.accepted(account.id)


@pytest.mark.parametrize(("role", "manages"), [("owner", True), ("admin", True), ("member", False)])
def test_owners_and_admins_manage_keys(
    catalog: Catalog, account: Account, role: str, *, manages: bool
) -> None:
    member = catalog.members.add(account.id, email="bo@acme.example", name="Bo", role=role)
    assert member.manages_keys is manages


def test_member_who_would_be_wrong_is_refused_with_every_problem(catalog: Catalog, account: Account) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        catalog.members.add(account.id, email="@acme", name=" ", role="king")
    assert [problem.field for problem in caught.value.problems] == ["name", "role", "email_address"]


def test_address_is_a_member_once_per_account(catalog: Catalog, account: Account) -> None:
    with pytest.raises(InvalidRecordError, match="member of this account already"):
        catalog.members.add(account.id, email="OWNER@acme.example", name="Again")
    other, _, _ = catalog.accounts.create("Other", "owner@acme.example")
    assert len(catalog.members.accepted(other.id)) == 1


def test_of_callers_racing_to_add_one_address_one_wins(catalog: Catalog, account: Account) -> None:
    callers = 8
    together = Barrier(callers)

    def add(_: int) -> str:
        together.wait()
        try:
            return catalog.members.add(account.id, email="bo@acme.example", name="Bo").name
        except InvalidRecordError as error:
            return error.problems[0].field

    with ThreadPoolExecutor(callers) as pool:
        outcomes = sorted(pool.map(add, range(callers)))
    assert outcomes == ["Bo", *["email_address"] * (callers - 1)]


def test_member_of_another_account_is_not_found(catalog: Catalog, account: Account) -> None:
    _, stranger, _ = catalog.accounts.create("Other", "owner@other.example")
    with pytest.raises(NotFoundError):
        catalog.members.get(account.id, stranger.id)


def test_removal_deletes_keys_and_is_audited(catalog: Catalog, account: Account) -> None:
    member = catalog.members.add(account.id, email="bo@acme.example", name="Bo")
    key, _ = catalog.keys.create(account.id, member.id, "CI", ["results:read"])
    assert catalog.members.remove(account.id, member.id, actor="test") == member
    assert key.id not in {one.id for one in catalog.keys.of_account(account.id)}
    assert all(catalog.audit.was_deleted(gone) for gone in (member.id, key.id))
    assert catalog.members.add(account.id, email="bo@acme.example", name="Bo").id != member.id


def test_a_member_is_removed_by_its_own_account_only(catalog: Catalog, account: Account) -> None:
    other, stranger, _ = catalog.accounts.create("Other", "owner@other.example")
    with pytest.raises(NotFoundError):
        catalog.members.remove(account.id, stranger.id)
    assert catalog.members.accepted(other.id) == [stranger]


def test_of_two_owners_removed_at_once_one_stays(catalog: Catalog, account: Account) -> None:
    catalog.members.add(account.id, email="bo@acme.example", name="Bo", role="owner")
    owners = catalog.members.accepted(account.id)
    together = Barrier(len(owners))

    def remove(member_id: str) -> bool:
        together.wait()
        try:
            catalog.members.remove(account.id, member_id)
        except LastOwnerError:
            return False
        return True

    with ThreadPoolExecutor(len(owners)) as pool:
        assert sorted(pool.map(remove, [owner.id for owner in owners])) == [False, True]
    assert len(catalog.members.accepted(account.id)) == 1
