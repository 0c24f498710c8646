"""Roles: who may do what with whose membership and keys, alike over REST, MCP and the dashboard's forms."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, product
from typing import Any, Final, Literal

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.deps import managing_keys
from api.mcp.permissions import PERMISSION_OF, permissions_of
from pipeline.settings import Settings
from pipeline.store.catalog.keys import SCOPES
from pipeline.store.catalog.members import ROLES, Member
from tests.api.customers import Customer, a_browser, a_customer_of
from tests.api.dashboard.conftest import form_token
from tests.api.mcp.assistants import HEADERS

Surface = Literal["REST", "MCP", "dashboard"]
NEW_KEY: Final = {"name": "New", "scopes": ["projects:read"]}
# As the contract has it: owners above admins, and admins above members, who manage nothing.
RANK: Final = {"member": 0, "admin": 1, "owner": 2}
# Where the dashboard lists, and what managers find there.
PAGES: Final = {
    "list_api_keys": ("/account", "Audit trail"),
    "list_audit_entries": ("/account/audit", "Audit trail"),
    "list_account_share_links": ("/account/share_links", "links work now"),
}
NO_TOOLS: Final = frozenset({"create_api_key", "list_account_share_links", "revoke_account_share_links"})
# Members that there are more of once an operation is done.
ADDED: Final = {"create_member": 1, "delete_member": -1}


@dataclass
class Target:
    """A member, with a key, on whom an operation is tried."""

    account: Customer
    member: Member
    key: Customer
    key_id: str

    @property
    def is_untouched(self) -> bool:
        """Whether the member, its role, its name and its one key are as they were."""
        catalog = self.account.services.catalog
        of_account = catalog.keys.of_account(self.account.account.id)
        keys = [one for one in of_account if one.member_id == self.member.id]
        is_member = self.member in catalog.members.accepted(self.account.account.id)
        return is_member and [one.revoked_at for one in keys] == [None]


class Targets:
    """Members of an account with a key each; one that was touched is replaced."""

    def __init__(self, account: Customer) -> None:
        self._account = account
        self._by_role: dict[str, Target] = {}
        self._numbers = count()

    def of_role(self, role: str) -> Target:
        """A new one."""
        catalog, account_id = self._account.services.catalog, self._account.account.id
        address = f"{role}-{next(self._numbers)}@acme.example"
        member = catalog.members.add(account_id, address, address, role)
        key, token = catalog.keys.create(account_id, member.id, address, SCOPES)
        holder = Customer(self._account.client, self._account.services, self._account.account, token)
        return Target(self._account, member, holder, key.id)

    def member_count(self) -> int:
        return len(self._account.services.catalog.members.accepted(self._account.account.id))

    def untouched(self, role: str) -> Target:
        found = self._by_role.get(role)
        if found is None or not found.is_untouched:
            found = self._by_role[role] = self.of_role(role)
        return found


@dataclass(frozen=True)
class Operation:
    """An operation on a target; `given` is the role that it gives, and `forbids` what refuses too much."""

    tool: str
    request: Callable[[Target], tuple[str, str, dict[str, Any] | None]]
    form: Callable[[Target], tuple[str, dict[str, Any]]] | None = None
    given: str | None = None
    # Of a target that is above the actor; a new one is refused by the field that names it.
    above: Literal["forbidden", "validation_error"] = "forbidden"
    # Otherwise it is about no member, or a new one.
    needs_target: bool = True

    def expected(self, actor: str, target: str) -> str:
        """The answer by the ranks alone."""
        if RANK[actor] == 0:
            return "forbidden"
        if self.needs_target and RANK[target] > RANK[actor]:
            return self.above
        if self.given is not None and RANK[self.given] > RANK[actor]:
            return "validation_error"
        return "done"


def path_of(target: Target) -> str:
    return f"/account/members/{target.member.id}"


def changing(name: str, role: str) -> Operation:
    def request(target: Target) -> tuple[str, str, dict[str, Any]]:
        return "PATCH", path_of(target), {"name": name, "role": role}

    def form(target: Target) -> tuple[str, dict[str, Any]]:
        return path_of(target), {"name": name, "role": role}

    return Operation("update_member", request, form, given=role)


def adding(role: str) -> Operation:
    def fields() -> dict[str, Any]:
        return {"email_address": f"new-{role}@acme.example", "name": "New", "role": role}

    return Operation(
        "create_member",
        lambda _: ("POST", "/account/members", fields()),
        lambda _: ("/account/members", fields()),
        given=role,
        needs_target=False,
    )


def for_holder(target: Target) -> dict[str, Any]:
    return {**NEW_KEY, "member_id": target.member.id}


OPERATIONS: Final[dict[str, Operation]] = {
    "revoke a key of": Operation(
        "revoke_api_key",
        lambda target: ("POST", f"/account/api_keys/{target.key_id}/revoke", None),
        lambda target: (f"/account/keys/{target.key_id}/revoke", {}),
    ),
    "create a key for": Operation(
        "create_api_key",
        lambda target: ("POST", "/account/api_keys", for_holder(target)),
        lambda target: ("/account/keys", for_holder(target)),
        above="validation_error",
    ),
    "remove": Operation(
        "delete_member",
        lambda target: ("DELETE", path_of(target), None),
        lambda target: (f"{path_of(target)}/remove", {}),
    ),
    **{f"make {role} of": changing("Renamed", role) for role in ROLES},
    **{f"add {role} beside": adding(role) for role in ROLES},
    "list keys beside": Operation(
        "list_api_keys",
        lambda _: ("GET", "/account/api_keys", None),
        needs_target=False,
    ),
    "read the audit trail beside": Operation(
        "list_audit_entries", lambda _: ("GET", "/account/audit", None), needs_target=False
    ),
    "list share links beside": Operation(
        "list_account_share_links", lambda _: ("GET", "/account/share_links", None), needs_target=False
    ),
    "revoke share links beside": Operation(
        "revoke_account_share_links",
        lambda _: ("DELETE", "/account/share_links", None),
        lambda _: ("/account/share_links/revoke", {}),
        needs_target=False,
    ),
}
Try = Callable[[Operation, Target], str | None]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(data_dir=tmp_path_factory.mktemp("store")))) as client:
        yield client


def over_rest(actor: Customer) -> Try:
    def attempt(operation: Operation, target: Target) -> str:
        method, path, body = operation.request(target)
        answer = actor.call(method, path, json=body)
        return "done" if answer.is_success else str(answer.json()["error"]["code"])

    return attempt


def over_mcp(actor: Customer) -> Try:
    def attempt(operation: Operation, target: Target) -> str | None:
        _, path, body = operation.request(target)
        ids = {"revoke_api_key": {"api_key_id": target.key_id}}
        own = {"member_id": target.member.id} if path == path_of(target) else {}
        arguments = {**ids.get(operation.tool, own), **(body or {})}
        if operation.tool in NO_TOOLS:
            return None
        params = {"name": operation.tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = actor.client.post(f"/mcp/{actor.token}/v2/mcp", json=message, headers=HEADERS)
        result = answer.json()["result"]
        return str(result["structuredContent"]["error"]["code"]) if result["isError"] else "done"

    return attempt


def on_the_dashboard(actor: Customer) -> Try:
    assert isinstance(actor.client, TestClient)
    browser = a_browser(actor.client)
    assert browser.post("/sign-in", data={"key": actor.token}).status_code == 303
    # A page without forms has the token in the one to sign out.
    token = form_token(browser.get("/account"))

    def attempt(operation: Operation, target: Target) -> str | None:
        if operation.form is None:
            path, shown = PAGES[operation.tool]
            page = browser.get(path)
            is_shown = page.status_code == 200 and shown in page.text
            return "done" if is_shown else "forbidden"
        path, fields = operation.form(target)
        answer = browser.post(path, data={"form_token": token, **fields})
        codes = {200: "done", 303: "done", 403: "forbidden", 422: "validation_error"}
        return codes[answer.status_code]

    return attempt


SURFACES: Final[dict[Surface, Callable[[Customer], Try]]] = {
    "REST": over_rest,
    "MCP": over_mcp,
    "dashboard": on_the_dashboard,
}


@pytest.mark.parametrize(("surface", "actor"), list(product(SURFACES, ROLES)))
def test_a_role_manages_its_own_and_lower_ones(service: TestClient, surface: Surface, actor: str) -> None:
    account = a_customer_of(service)
    targets = Targets(account)
    attempt = SURFACES[surface](targets.of_role(actor).key)
    answers, expected, wrong = {}, {}, []
    for name, operation in OPERATIONS.items():
        for role in ROLES if operation.needs_target else ("member",):
            target = targets.untouched(role)
            before = targets.member_count()
            answer = attempt(operation, target)
            if answer is None:
                continue
            cell = f"{actor} may {name} {role}"
            answers[cell], expected[cell] = answer, operation.expected(actor, role)
            # What is refused leaves everything as it was; what is done does not.
            added = ADDED.get(operation.tool, 0) if answer == "done" else 0
            is_untouched = answer != "done" or not operation.needs_target
            if (target.is_untouched, targets.member_count() - before) != (is_untouched, added):
                wrong.append(cell)
    assert len(answers) >= len(ROLES) * 5
    assert answers == expected
    assert wrong == []


def test_every_operation_of_owners_and_admins_is_in_the_matrix(service: TestClient) -> None:
    app: Any = service.app
    of_managers = {
        name for name, needed in permissions_of(app).items() if PERMISSION_OF[managing_keys] in needed
    }
    assert of_managers == {operation.tool for operation in OPERATIONS.values()}
